/** Renders nginx's configuration from the environment, before nginx starts: `node deploy/nginx/write-config.ts /nginx/nginx.conf`. */

import { findUnknown } from 'contract/unknown-settings'
import { writeNginxConfig } from './render.ts'

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('name the file to write')
for (const sentence of findUnknown(process.env)) process.stderr.write(`${sentence}\n`)
const problems = writeNginxConfig(process.env, file)
if (problems.length > 0) {
  process.stderr.write(
    `culvert nginx: cannot start, ${problems.length} problem(s):\n${problems.join('\n')}\n`,
  )
  process.exitCode = 1
}
