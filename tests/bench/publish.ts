/** Puts what a benchmark has found into its place in README, between two comments that name it. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../helpers/node.ts'

/** Where tables, figures and pictures lie that README shows. */
export const PUBLISHED = 'docs/bench'

const README = join(ROOT, 'README.md')

/** Rejects when README has no such place. */
export async function putIntoReadme(name: string, found: string): Promise<void> {
  const [begin, end] = [`<!-- ${name}: written by the benchmark -->\n`, `<!-- end of ${name} -->\n`]
  const readme = await readFile(README, 'utf8')
  const [from, to] = [readme.indexOf(begin), readme.indexOf(end)]
  if (from < 0 || to < from)
    throw new Error(`README.md has no place for ${name}: ${begin.trim()} … ${end.trim()}`)
  await writeFile(README, `${readme.slice(0, from + begin.length)}\n${found.trim()}\n\n${readme.slice(to)}`)
}
