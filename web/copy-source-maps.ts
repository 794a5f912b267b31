/**
 * Copies the source maps of web's own server code beside the files of the standalone server. Browsers cannot request that folder.
 */

import { copyFileSync, existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_MAP_BYTES } from './lib/source-maps/source-frames.ts'

const [from = '', to = ''] = process.argv.slice(2)
const files = globSync('server/{app,chunks}/**/*.js.map', { cwd: from })
for (const file of files) {
  const map = join(from, file)
  const isSmall = statSync(map).size <= MAX_MAP_BYTES
  const isOwn = isSmall && /"(?:\.\.\/)+(?:web|tunnel)\//.test(readFileSync(map, 'utf8'))
  if (isOwn && existsSync(join(to, file.slice(0, -'.map'.length)))) copyFileSync(map, join(to, file))
}
