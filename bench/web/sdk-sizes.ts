/**
 * Prints the sizes of the bundles beside those of Sentry's CDN bundles, in bytes. The npm packages do not contain the latter: the stand-ins
 * export the same functions of the same version, and are built like Culvert's.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { buildSdk } from '../../scripts/build/sdk.ts'
import { ROOT } from '../../tests/support/node.ts'
import { MANIFEST_FILE, SDK_FOLDER, type SdkManifest } from '../../tunnel/sdk/manifest.ts'
import { renderTable } from '../report/table.ts'

type Sizes = { raw: number; gzip: number; br: number }

const COMMON = ['init', 'forceLoad', 'onLoad', 'showReportDialog']

/** Sentry's bundles: the module with most of their functions, and the others. */
const CDN = {
  'bundle.logs.metrics.min.js': ['api', COMMON],
  'bundle.tracing.logs.metrics.min.js': ['tracing-api', COMMON],
  'bundle.tracing.replay.feedback.logs.metrics.min.js': [
    'tracing-api',
    [...COMMON, 'feedbackIntegration', 'getFeedback', 'replayIntegration'],
  ],
} as const

async function sizesOf(module: string, names: readonly string[]): Promise<Sizes> {
  const entry = join(ROOT, 'tunnel/sdk/cdn-entry.js')
  const code = `export * from './${module}.ts'
export { ${names.join(', ')} } from '@sentry/browser'`
  const build = await rolldown({
    input: entry,
    platform: 'browser',
    transform: { target: 'es2022', define: { __SENTRY_DEBUG__: 'false' } },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) => (id === entry ? code : undefined),
      },
    ],
  })
  const { output } = await build.generate({ format: 'iife', name: 'Sentry', minify: true, comments: false })
  await build.close()
  const bytes = Buffer.from(output[0].code)
  return {
    raw: bytes.length,
    gzip: gzipSync(bytes, { level: 9 }).length,
    br: brotliCompressSync(bytes).length,
  }
}

await buildSdk(ROOT)
const manifest: SdkManifest = JSON.parse(
  readFileSync(join(ROOT, 'tunnel', SDK_FOLDER, MANIFEST_FILE), 'utf8'),
)
const own = Object.entries(manifest.bundles)
const theirs = await Promise.all(
  Object.entries(CDN).map(async ([name, [module, names]]) => [name, await sizesOf(module, names)] as const),
)
console.log(`@sentry/browser ${manifest.version}`)
console.log(
  renderTable([
    ['bundle', 'plain', 'gzip', 'brotli'],
    ...[...own, ...theirs].map(([name, { raw, gzip, br }]) => [name, `${raw}`, `${gzip}`, `${br}`]),
  ]),
)
