/** Writes the tables of a benchmark into a page of the documentation, between two comments that name it. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../../tests/support/node.ts'

/** Folder of the tables, figures and charts in the documentation. */
export const PUBLISHED = 'docs/bench'

const PAGE = 'docs/benchmarks.md'

/** Writes into the page. Rejects when the page has no place for the tables. */
export async function putIntoPage(name: string, found: string, page = PAGE): Promise<void> {
  const file = join(ROOT, page)
  await writeFile(file, fillPlace(await readFile(file, 'utf8'), name, found, page))
}

/** Replaces the text between the comments of `name` by `found`. Throws when there are none. */
function fillPlace(text: string, name: string, found: string, page = PAGE): string {
  const [begin, end] = [`<!-- ${name}: written by the benchmark -->\n`, `<!-- end of ${name} -->\n`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${page} has no place for it: ${begin.trim()} … ${end.trim()}`)
  return `${text.slice(0, from + begin.length)}\n${found.trim()}\n\n${text.slice(to)}`
}
