/** Completes the standalone server that `next build` has written: the files that it reads and serves, beside it. */

import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { rolldown } from 'rolldown'
import { renderIndex, renderPage } from './features/console/docs/render.ts'
import { MAX_MAP_BYTES } from './lib/source-maps/source-frames.ts'

const WEB = import.meta.dirname
const ROOT = join(WEB, '..')
const BUILD = join(WEB, '.next')
const STATIC = join(BUILD, 'static')
const SERVER = join(BUILD, 'standalone/web')
const BROWSER_MAPS = join(SERVER, 'browser-maps')

rmSync(BROWSER_MAPS, { recursive: true, force: true })
hideBrowserMaps()
compressStatic()
cpSync(STATIC, join(SERVER, '.next/static'), { recursive: true })
cpSync(join(WEB, 'public'), join(SERVER, 'public'), { recursive: true })
copyStyles(join(SERVER, 'styles.css'))
await bundleReplayFrame(join(SERVER, 'replay-frame.js'))
renderDocs(join(SERVER, 'docs'))
copySourceMaps(join(SERVER, '.next'))

/** Moves the source maps of browsers' scripts to where visitors cannot request them. The inbox finds them by the names of the scripts. */
function hideBrowserMaps(): void {
  mkdirSync(BROWSER_MAPS, { recursive: true })
  for (const name of globSync('**/*.{js,css}', { cwd: STATIC })) {
    const file = join(STATIC, name)
    const text = readFileSync(file, 'utf8')
    const [comment = '', map] = /\s*(?:\/\/|\/\*)# sourceMappingURL=(\S+?)\s*(?:\*\/)?\s*$/.exec(text) ?? []
    if (map === undefined) continue
    if (name.endsWith('.js'))
      copyFileSync(join(dirname(file), map), join(BROWSER_MAPS, `${basename(name)}.map`))
    writeFileSync(file, text.slice(0, text.length - comment.length))
  }
  for (const name of globSync('**/*.map', { cwd: STATIC })) rmSync(join(STATIC, name))
}

/** Compresses scripts and styles with brotli. `next.config.ts` serves them. */
function compressStatic(): void {
  for (const name of globSync('**/*.{js,css}', { cwd: STATIC })) {
    const bytes = readFileSync(join(STATIC, name))
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    writeFileSync(join(STATIC, `${name}.br`), brotliCompressSync(bytes, { params }))
  }
}

/** Copies the style sheet of all pages, for the page that Next.js does not render. Only `global.css` defines this design token. */
function copyStyles(file: string): void {
  const token = '--color-ground:'
  const sheets = globSync('**/*.css', { cwd: STATIC }).map((name) => readFileSync(join(STATIC, name), 'utf8'))
  const [sheet, ...others] = sheets.filter((text) => text.includes(token))
  if (sheet === undefined || others.length > 0)
    throw new Error(`not one style sheet with ${token} in ${STATIC}`)
  writeFileSync(file, sheet)
}

/** Bundles the script of the frame that plays replays. */
async function bundleReplayFrame(file: string): Promise<void> {
  const build = await rolldown({
    input: join(WEB, 'features/console/inbox/replay/frame.ts'),
    platform: 'browser',
    transform: { target: 'es2022' },
  })
  const { output } = await build.generate({ format: 'iife', minify: true, comments: false })
  await build.close()
  writeFileSync(file, output[0].code)
}

/** Renders the documentation. */
function renderDocs(folder: string): void {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
  const files = globSync('docs/*.md', { cwd: ROOT })
  const pages = Object.fromEntries(files.map((file) => [basename(file, '.md'), renderPage(file, read(file))]))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'pages.json'), JSON.stringify({ index: renderIndex(read('README.md')), pages }))
  for (const image of Object.values(pages).flatMap(({ images }) => images))
    copyFileSync(join(ROOT, image), join(folder, basename(image)))
}

/** Copies the source maps of web's own server code. Browsers cannot request that folder. */
function copySourceMaps(folder: string): void {
  for (const file of globSync('server/{app,chunks}/**/*.js.map', { cwd: BUILD })) {
    const map = join(BUILD, file)
    const isSmall = statSync(map).size <= MAX_MAP_BYTES
    const isOwn = isSmall && /"(?:\.\.\/)+(?:web|tunnel)\//.test(readFileSync(map, 'utf8'))
    if (isOwn && existsSync(join(folder, file.slice(0, -'.map'.length))))
      copyFileSync(map, join(folder, file))
  }
}
