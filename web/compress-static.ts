/** Compresses the scripts and styles of the build with brotli. `next.config.ts` serves them. */

import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

const [folder = ''] = process.argv.slice(2)
for (const name of globSync('**/*.{js,css}', { cwd: folder })) {
  const bytes = readFileSync(join(folder, name))
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }))
}
