/** Compresses the files of the build once, as well as can be, beside each: `next.config.ts` serves them to browsers that take brotli. */

import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

const [folder = ''] = process.argv.slice(2)
for (const name of globSync('**/*.{js,css}', { cwd: folder })) {
  const bytes = readFileSync(join(folder, name))
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }))
}
