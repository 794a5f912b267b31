/** Copies the style sheet of all pages beside the standalone server, for the page that Next.js does not render. */

import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Design token, which only `global.css` defines. */
const TOKEN = '--color-ground:'

const [folder = '', file = ''] = process.argv.slice(2)
const sheets = globSync('**/*.css', { cwd: folder }).map((name) => readFileSync(join(folder, name), 'utf8'))
const [sheet, ...others] = sheets.filter((text) => text.includes(TOKEN))
if (sheet === undefined || others.length > 0)
  throw new Error(`not one style sheet with ${TOKEN} in ${folder}`)
writeFileSync(file, sheet)
