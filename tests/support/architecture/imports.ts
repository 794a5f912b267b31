/** Reads the imports of a source tree, and compares them with an order of its subjects. */

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { ROOT } from '../node.ts'

/**
 * Order of a tree's subjects, top to bottom. A subject is a folder or a module, without its extension and relative to the tree's root; `.`
 * is everything that no other subject of the order holds. A module imports from its own subject and from lines below it.
 */
export type Order = readonly (readonly string[])[]

/** Modules of a tree by their paths, relative to its root, each with those it imports. */
export type Imports = ReadonlyMap<string, readonly string[]>

// Covers `import type`, `export … from`, `import()` (also as a type) and the entry file of a worker thread.
const SPECIFIER = /(?:\bfrom|\bimport|\bnew URL)\s*\(?\s*(['"])(\.[^'"]+)\1/g

/** Lists the TypeScript modules below a folder of the repository. */
function sourceFiles(root: string): string[] {
  const exclude = ['**/node_modules/**', '**/.next/**', '**/*.d.ts']
  return globSync('**/*.{ts,tsx}', { cwd: join(ROOT, root), exclude }).sort()
}

/** Reads the imports below `root`. Packages, and files that are no module of the tree, are left out. */
export function readImports(root: string): Imports {
  const all = readAllImports(root)
  return new Map(Array.from(all, ([file, imported]) => [file, imported.filter((path) => all.has(path))]))
}

/** Reads the imports below `root`, also those of files outside of it. Packages are left out. */
export function readAllImports(root: string): Imports {
  const files = sourceFiles(root)
  if (files.length === 0) throw new Error(`${root} holds no module`)
  return new Map(files.map((file) => [file, importsOf(file, readFileSync(join(ROOT, root, file), 'utf8'))]))
}

/** Returns the relative imports of a module, type-only ones included, as paths from its tree's root. */
function importsOf(file: string, text: string): string[] {
  const paths = [...text.matchAll(SPECIFIER)].map(([, , path = '']) => normalize(join(dirname(file), path)))
  return [...new Set(paths)]
}

/** Returns a sentence for each module that the order does not place, and for each import that goes up or sideways. */
export function findOrderViolations(imports: Imports, order: Order): string[] {
  const subjects = order.flatMap((line, index) => line.map((subject) => ({ subject, line: index })))
  const place = (file: string) =>
    subjects
      .filter(({ subject }) => holds(subject, file))
      .reduce<Placed | undefined>((best, each) => (best && isNearer(best, each) ? best : each), undefined)
  return [...imports].flatMap(([file, imported]) => {
    const own = place(file)
    if (!own)
      return `${file} belongs to no subject of the order: move it into the folder of its subject, or add its subject.`
    return imported.flatMap((path) => {
      const other = place(path)
      if (!other || other.subject === own.subject || other.line > own.line) return []
      const why = other.line < own.line ? 'is above' : 'is beside'
      return `${file} imports ${path}, but ${other.subject} ${why} ${own.subject} in the order: move what it needs to a subject below both, or pass it in.`
    })
  })
}

type Placed = { subject: string; line: number }

function holds(subject: string, file: string): boolean {
  return subject === '.' || file.startsWith(`${subject}/`) || file.replace(/\.tsx?$/, '') === subject
}

function isNearer(a: Placed, b: Placed): boolean {
  return b.subject === '.' || (a.subject !== '.' && a.subject.length > b.subject.length)
}

/** Returns a sentence for each import that closes a cycle, with the modules of the cycle in order. */
export function findCycles(imports: Imports): string[] {
  const isDone = new Set<string>()
  const found: string[] = []
  for (const file of imports.keys()) visit(file, [])
  return found

  function visit(file: string, path: readonly string[]): void {
    const start = path.indexOf(file)
    if (start >= 0) {
      const circle = [...path.slice(start), file].join(' → ')
      found.push(`${circle} is an import cycle: move what these modules share into the lowest of them.`)
    }
    if (start >= 0 || isDone.has(file)) return
    for (const next of imports.get(file) ?? []) visit(next, [...path, file])
    isDone.add(file)
  }
}
