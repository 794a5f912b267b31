/** Frames of a minified build in their source, by the maps that a bundler has written. */

import { execFileSync } from 'node:child_process'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readEvent } from '../../../../../web/features/console/inbox/event.ts'
import { MAX_MAP_BYTES, SourceFolders } from '../../../../../web/features/console/inbox/source-folders.ts'
import { makeFolder } from '../../../../support/temporary-folder.ts'

const SOURCES = {
  'src/main.js':
    "import { charge } from './cart.js'\nexport function pay(total) {\n  return charge(total)\n}\n",
  'src/cart.js':
    "import { refuse } from 'lib'\n\nexport function charge(total) {\n  if (total > 10) refuse(total)\n  return total\n}\n",
  'node_modules/lib/index.js': 'export function refuse(total) {\n  throw new Error(total)\n}\n',
  'node_modules/lib/package.json': '{"name":"lib","type":"module","main":"index.js"}',
}
const SCRIPT = 'https://shop.example/assets/main.js'

const started = new AsyncDisposableStack()
let root = ''
let built = ''
let debugId = ''
/** Frames of the error as a browser reports them, the oldest call first. */
let frames: { filename: string; lineno: number; colno: number }[] = []

beforeAll(async () => {
  root = started.use(await makeFolder()).path
  for (const [file, text] of Object.entries(SOURCES)) {
    await mkdir(dirname(join(root, file)), { recursive: true })
    await writeFile(join(root, file), text)
  }
  const build = await rolldown({ input: join(root, 'src/main.js'), cwd: root })
  built = join(root, 'dist')
  const options = { dir: join(built, 'assets'), minify: true, sourcemap: true, sourcemapDebugIds: true }
  await build.write({ ...options, comments: false })
  await build.close()
  ;[, debugId = ''] =
    /"debugId":"([^"]+)"/.exec(await readFile(join(built, 'assets/main.js.map'), 'utf8')) ?? []
  const raise = 'import(process.argv[1]).then(({ pay }) => pay(11)).catch(({ stack }) => console.log(stack))'
  const stack = execFileSync(process.execPath, [
    '-e',
    raise,
    pathToFileURL(join(built, 'assets/main.js')).href,
  ])
  frames = [...String(stack).matchAll(/main\.js:(\d+):(\d+)/g)].reverse().map(([, line, column]) => ({
    ...{ filename: SCRIPT, lineno: Number(line), colno: Number(column) },
  }))
})

afterAll(() => started.disposeAsync())

/** Returns the frames, most recent call first, as the folder shows them. */
async function shown(folder: SourceFolders, script = SCRIPT, images: object[] = []) {
  const json = {
    exception: {
      values: [{ stacktrace: { frames: frames.map((each) => ({ ...each, filename: script })) } }],
    },
    debug_meta: { images },
    request: { url: 'https://shop.example/basket' },
  }
  const event = readEvent(json)
  if (!event) throw new Error('no event')
  const mapped = await folder.mapFrames(event)
  return (mapped.exception[0]?.stacktrace?.frames ?? []).toReversed()
}

const openFolder = (path = built) => new SourceFolders([path], () => 0)

it('shows frames in their source with the lines around, and those of packages as no own ones', async () => {
  expect(frames.length).toBeGreaterThan(0)
  const mapped = await shown(openFolder())
  expect(mapped.at(0)).toMatchObject({
    ...{ filename: 'node_modules/lib/index.js', lineno: 2, in_app: false },
    ...{ context_line: '  throw new Error(total)', pre_context: ['export function refuse(total) {'] },
  })
  expect(mapped.filter(({ in_app: isOwn }) => isOwn).map(({ filename }) => filename)).not.toContain(SCRIPT)
})

it.each(['https://shop.example/assets/other.js', '../../../../etc/passwd', 'main.js/..', ''])(
  'leaves frames of %s as they are',
  async (script) => {
    const mapped = await shown(openFolder(), script)
    expect(mapped.map(({ context_line: line }) => line)).toEqual(frames.map(() => undefined))
  },
)

it('takes of several maps the one whose path is nearest, and none of equal ones, unless the debug ID tells', async () => {
  await using copies = await makeFolder()
  const map = await readFile(join(built, 'assets/main.js.map'), 'utf8')
  const write = async (name: string, text: string) => {
    await mkdir(join(copies.path, name), { recursive: true })
    await writeFile(join(copies.path, name, 'main.js.map'), text)
  }
  await write(
    'old',
    map.replaceAll(debugId, '00000000-0000-4000-8000-000000000000').replaceAll('charge', 'former'),
  )
  await write('new', map)
  const folder = openFolder(copies.path)
  const isMapped = async (...args: Parameters<typeof shown>) =>
    (await shown(...args)).every(({ context_line: line }) => line !== undefined)
  expect(await isMapped(folder, 'https://shop.example/new/main.js')).toBe(true)
  expect(await isMapped(folder)).toBe(false)
  expect(await isMapped(folder, SCRIPT, [{ code_file: SCRIPT, debug_id: debugId }])).toBe(true)
  const query = `${SCRIPT}?dpl=1`
  expect(await isMapped(folder, query, [{ code_file: query, debug_id: debugId.toUpperCase() }])).toBe(true)
  const former = 'https://shop.example/old/main.js'
  expect(await isMapped(folder, former, [{ code_file: former, debug_id: debugId }])).toBe(true)
  const strange = [{ code_file: SCRIPT, debug_id: '11111111-0000-4000-8000-000000000000' }]
  expect(await isMapped(folder, SCRIPT, strange)).toBe(false)
})

it('takes for a script of another host only a map whose whole path is that of the script', async () => {
  expect((await shown(openFolder(), 'https://cdn.example/assets/main.js'))[0]?.context_line).toBeDefined()
  for (const strange of ['https://widget.example/x/main.js', 'https://widget.example/main.js'])
    expect((await shown(openFolder(), strange))[0]?.context_line).toBeUndefined()
  const flat = openFolder(join(built, 'assets'))
  expect((await shown(flat, 'https://cdn.example/main.js'))[0]?.context_line).toBeUndefined()
  expect((await shown(flat))[0]?.context_line).toBeDefined()
})

it('takes the map at the root rather than that of a former release in a folder', async () => {
  await using releases = await makeFolder()
  const map = await readFile(join(built, 'assets/main.js.map'), 'utf8')
  await mkdir(join(releases.path, 'v1/assets'), { recursive: true })
  await mkdir(join(releases.path, 'assets'))
  await writeFile(join(releases.path, 'assets/main.js.map'), map)
  await writeFile(join(releases.path, 'v1/assets/main.js.map'), map.replaceAll('throw new', 'throw old'))
  expect((await shown(openFolder(releases.path)))[0]?.context_line).toBe('  throw new Error(total)')
})

it('finds a map of another name where the script names it', async () => {
  await using copy = await makeFolder()
  const script = await readFile(join(built, 'assets/main.js'), 'utf8')
  await writeFile(join(copy.path, 'main.js'), script.replace(/(sourceMappingURL=)\S+/, '$1maps/m.map'))
  await mkdir(join(copy.path, 'maps'))
  await writeFile(join(copy.path, 'maps/m.map'), await readFile(join(built, 'assets/main.js.map'), 'utf8'))
  expect((await shown(openFolder(copy.path)))[0]?.context_line).toBe('  throw new Error(total)')
  await rename(join(copy.path, 'maps/m.map'), join(root, 'm.map'))
  await writeFile(join(copy.path, 'main.js'), script.replace(/(sourceMappingURL=)\S+/, '$1../m.map'))
  expect((await shown(openFolder(copy.path)))[0]?.context_line).toBeUndefined()
})

it('leaves frames as they are when the map is damaged or too large, and rejects for a folder that is missing', async () => {
  await using copy = await makeFolder()
  const map = join(copy.path, 'main.js.map')
  await writeFile(map, '{')
  expect((await shown(openFolder(copy.path)))[0]?.context_line).toBeUndefined()
  const text = await readFile(join(built, 'assets/main.js.map'), 'utf8')
  await writeFile(map, text + ' '.repeat(MAX_MAP_BYTES))
  expect((await shown(openFolder(copy.path)))[0]?.context_line).toBeUndefined()
  await rm(copy.path, { recursive: true })
  await expect(shown(openFolder(copy.path))).rejects.toThrow(/ENOENT/)
  await mkdir(copy.path)
})
