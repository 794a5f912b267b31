/** Copies the source maps of web's own server code beside the files of the standalone server. Browsers cannot request that folder. */

import { copyFileSync, existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_MAP_BYTES } from './lib/source-maps/source-frames.ts'

const [from = '', to = ''] = process.argv.slice(2)
for (const file of globSync('server/{app,chunks}/**/*.js.map', { cwd: from })) {
  const map = join(from, file)
  const isWanted =
    statSync(map).size <= MAX_MAP_BYTES && /"(?:\.\.\/)+(?:web|tunnel)\//.test(readFileSync(map, 'utf8'))
  if (isWanted && existsSync(join(to, file.slice(0, -'.map'.length)))) copyFileSync(map, join(to, file))
}
