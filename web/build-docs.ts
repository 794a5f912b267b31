/** Renders the documentation into the folder that the server reads it from. */

import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { renderIndex, renderPage } from './features/console/docs/render.ts'

const ROOT = join(import.meta.dirname, '..')
const [folder = ''] = process.argv.slice(2)

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

const files = globSync('docs/*.md', { cwd: ROOT })
const pages = Object.fromEntries(files.map((file) => [basename(file, '.md'), renderPage(file, read(file))]))
const index = renderIndex(read('README.md'))

mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'pages.json'), JSON.stringify({ index, pages }))
for (const image of Object.values(pages).flatMap(({ images }) => images))
  copyFileSync(join(ROOT, image), join(folder, basename(image)))
