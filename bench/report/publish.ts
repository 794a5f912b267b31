/** Puts what a benchmark has found into its place in README, between two comments that name it. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../../tests/support/node.ts'

/** Where tables, figures and pictures lie that README shows. */
export const PUBLISHED = 'docs/bench'

const README = join(ROOT, 'README.md')

/** Rejects when README has no such place. */
export async function putIntoReadme(name: string, found: string): Promise<void> {
  await writeFile(README, fillPlace(await readFile(README, 'utf8'), name, found))
}

/** Gives `text` with `found` between the comments of `name`, in place of what stood there. Throws when it has none. */
export function fillPlace(text: string, name: string, found: string): string {
  const [begin, end] = [`<!-- ${name}: written by the benchmark -->\n`, `<!-- end of ${name} -->\n`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`README.md has no place for it: ${begin.trim()} … ${end.trim()}`)
  return `${text.slice(0, from + begin.length)}\n${found.trim()}\n\n${text.slice(to)}`
}
