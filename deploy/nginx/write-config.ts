/**
 * Renders nginx's configuration from the environment, before nginx starts: `node deploy/nginx/write-config.ts /nginx/nginx.conf`. With
 * `--check-all` it first checks the settings of all containers, which start after this one.
 */

import { findUnknown } from 'contract/unknown-settings'
import { checkAllSettings } from '../../tunnel/src/config/all-settings.ts'
import { writeNginxConfig } from './render.ts'

const [file, flag] = process.argv.slice(2)
if (file === undefined) throw new Error('name the file to write')
for (const sentence of findUnknown(process.env)) process.stderr.write(`${sentence}\n`)
const wrong = flag === '--check-all' ? checkAllSettings(process.env) : []
const problems = wrong.length > 0 ? wrong : writeNginxConfig(process.env, file)
if (problems.length > 0) {
  process.stderr.write(`culvert: cannot start, ${problems.length} problem(s):\n${problems.join('\n')}\n`)
  process.exitCode = 1
}
