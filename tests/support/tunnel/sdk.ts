/** SDK of a tunnel without a build: small files in place of the bundles. */

import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { AddOn } from '../../../tunnel/sdk/handover.ts'
import { LOADER_FILE, MANIFEST_FILE, REACH_FILE, type SdkManifest } from '../../../tunnel/sdk/manifest.ts'

/**
 * Writes it into a folder, where the text of each bundle is its name, after that of the release. The bundles `errors` and `tracing` also name
 * the files of `addOns`, as the build writes them.
 */
export async function writeSdk(
  folder: string,
  release?: string,
  addOns: readonly AddOn[] = [],
): Promise<SdkManifest> {
  await mkdir(folder, { recursive: true })
  const bundle = async (name: string, references = '') => {
    const text = (release ? `${release} ${name}` : name) + references
    const hash = release ? createHash('sha256').update(text).digest('hex').slice(0, 16) : '0123456789abcdef'
    const file = `${name}-${hash}.js`
    const [gzip, br] = [gzipSync(text), brotliCompressSync(text)]
    await writeFile(join(folder, file), text)
    await writeFile(join(folder, `${file}.gz`), gzip)
    await writeFile(join(folder, `${file}.br`), br)
    const integrity = `sha384-${createHash('sha384').update(text).digest('base64')}`
    return { file, integrity, raw: text.length, gzip: gzip.length, br: br.length }
  }
  const files = { replay: await bundle('replay'), feedback: await bundle('feedback') }
  const references = addOns.map((name) => ` [\`${files[name].file}\`,\`${files[name].integrity}\`]`).join('')
  const manifest = {
    version: '11.1.0',
    sources: '',
    bundles: {
      errors: await bundle('errors', references),
      tracing: await bundle('tracing', references),
      ...files,
    },
  }
  await writeFile(join(folder, LOADER_FILE), 'start(CULVERT_CONFIG)')
  await writeFile(join(folder, REACH_FILE), 'test(CULVERT_REACH)')
  await writeFile(join(folder, MANIFEST_FILE), JSON.stringify(manifest))
  return manifest
}
