/** Builds what browsers get from the tunnel: the loader, and bundles of the Sentry SDK. */

import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import sdk from '@sentry/browser/package.json' with { type: 'json' }
import { type Plugin, rolldown } from 'rolldown'
import {
  type BundleFile,
  type BundleName,
  LOADER_FILE,
  MANIFEST_FILE,
  REACH_FILE,
  SDK_FOLDER,
  type SdkManifest,
} from './sdk/manifest.ts'

const SOURCES = join(import.meta.dirname, 'sdk')
const FOLDER = join(import.meta.dirname, SDK_FOLDER)

/** Gives private members of this folder plain names: ES2020 has none, and WeakMaps in their place cost 1 KB. */
const PLAIN_MEMBERS: Plugin = {
  name: 'plain-members',
  transform: (code, id) => (id.startsWith(SOURCES) ? code.replace(/(?<=[\s.])#(?=[a-z])/g, '_') : undefined),
}

/** Lets the SDK read `document` as page.ts does. Session Replay is left out: it gives the document itself to the browser. */
const SAFE_DOCUMENT: Plugin = {
  name: 'safe-document',
  transform: (code, id) => {
    if (!/\/(@sentry\/(browser|browser-utils|core|feedback)|web-vitals)\//.test(id)) return undefined
    const safe = code.replace(/\bWINDOW\.document\b|(?<![\w.$"'`])document(?=\.\w)/g, 'safeDocument')
    return safe === code
      ? undefined
      : `import { safeDocument } from '${join(SOURCES, 'safe-document.ts')}'\n${safe}`
  },
}

/** Lets the feedback form insert its icons as elements: Trusted Types forbid `innerHTML`. */
const ICONS_AS_ELEMENTS: Plugin = {
  name: 'icons-as-elements',
  transform: (code, id) =>
    id.includes('@sentry/feedback/')
      ? code
          .replaceAll(/\{ __html: (\w+)\(\)\.outerHTML \}/g, '((element) => element?.replaceChildren($1()))')
          .replaceAll(/dangerouslySetInnerHTML: (logoHtml|successIconHtml)/g, 'ref: $1')
      : undefined,
}

/** Bundles the module of this name for a script element. */
async function bundle(name: string, define: Record<string, string>): Promise<string> {
  const build = await rolldown({
    input: join(SOURCES, `${name}.ts`),
    platform: 'browser',
    plugins: [PLAIN_MEMBERS, SAFE_DOCUMENT, ICONS_AS_ELEMENTS],
    transform: {
      target: 'es2020',
      assumptions: { setPublicClassFields: true },
      define: { __SENTRY_DEBUG__: 'false', ...define },
    },
  })
  const { output } = await build.generate({ format: 'iife', minify: true, comments: false })
  await build.close()
  const [chunk, ...others] = output
  if (others.length > 0) throw new Error(`${name} has more than one file`)
  return chunk.code
}

/** Writes a bundle, plain and compressed, under a name that contains its hash. */
function write(name: BundleName, code: string): BundleFile {
  const bytes = Buffer.from(code)
  const file = `${name}-${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.js`
  const gzip = gzipSync(bytes, { level: 9 })
  const br = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } })
  writeFileSync(join(FOLDER, file), bytes)
  writeFileSync(join(FOLDER, `${file}.gz`), gzip)
  writeFileSync(join(FOLDER, `${file}.br`), br)
  const integrity = `sha384-${createHash('sha384').update(bytes).digest('base64')}`
  return { file, integrity, raw: bytes.length, gzip: gzip.length, br: br.length }
}

function referTo(files: Record<string, BundleFile>): string {
  const entries = Object.entries(files).map(([name, { file, integrity }]) => [name, [file, integrity]])
  return JSON.stringify(Object.fromEntries(entries))
}

const [sources = ''] = process.argv.slice(2)
mkdirSync(FOLDER, { recursive: true })
const loader = await bundle('loader', {})
const addOns = {
  replay: write('replay', await bundle('replay', {})),
  feedback: write('feedback', await bundle('feedback', {})),
}
const define = { CULVERT_ADD_ONS: referTo(addOns) }
const bundles = {
  errors: write('errors', await bundle('errors', define)),
  tracing: write('tracing', await bundle('tracing', define)),
  ...addOns,
}
const manifest: SdkManifest = { version: sdk.version, sources, bundles }
writeFileSync(join(FOLDER, LOADER_FILE), loader)
writeFileSync(join(FOLDER, REACH_FILE), await bundle('reach/reach', {}))
const partial = join(FOLDER, `${MANIFEST_FILE}.new`)
writeFileSync(partial, JSON.stringify(manifest, undefined, 2))
renameSync(partial, join(FOLDER, MANIFEST_FILE)) // last: a build that was stopped is no build

const current = new Set([LOADER_FILE, MANIFEST_FILE, REACH_FILE])
for (const { file } of Object.values(bundles)) for (const end of ['', '.gz', '.br']) current.add(file + end)
for (const file of readdirSync(FOLDER)) if (!current.has(file)) rmSync(join(FOLDER, file))
