/** Sizes of folders and files. The tests themselves are not measured. */

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sourceFiles } from '../../support/architecture/imports.ts'
import { ROOT } from '../../support/node.ts'

const TREES = ['tunnel/src', 'tunnel/sdk', 'web', 'doctor', 'scripts', 'bench']

const FILES_PER_FOLDER = 15
const LINES_PER_FILE = 300

/** Exceptions with their size when the rule was written. They may shrink and never grow. */
const LARGE_FOLDERS: Readonly<Record<string, number>> = {}
const LARGE_FILES: Readonly<Record<string, number>> = {}

type Rule = {
  limit: number
  unit: string
  exceptions: Readonly<Record<string, number>>
  remedy: string
}

describe('The source tree', () => {
  const files = TREES.flatMap((tree) => sourceFiles(tree).map((file) => join(tree, file)))

  it(`has at most ${FILES_PER_FOLDER} modules in each folder`, () => {
    const folders = Object.entries(Object.groupBy(files, (file) => dirname(file)))
    const sizes = new Map(folders.map(([folder, its = []]) => [folder, its.length]))
    const remedy = 'group them by subject into folders, or merge those that only change together'
    expect(
      findLarge(sizes, { limit: FILES_PER_FOLDER, unit: 'modules', exceptions: LARGE_FOLDERS, remedy }),
    ).toEqual([])
  })

  it(`has at most ${LINES_PER_FILE} lines in each file`, () => {
    const sizes = new Map(files.map((file) => [file, linesOf(file)]))
    const remedy = 'split it by subject'
    expect(
      findLarge(sizes, { limit: LINES_PER_FILE, unit: 'lines', exceptions: LARGE_FILES, remedy }),
    ).toEqual([])
  })
})

describe('findLarge', () => {
  const rule = { limit: 10, unit: 'lines', exceptions: { old: 20 }, remedy: 'split it' }

  it.each([
    ['new', 10],
    ['old', 20],
    ['old', 11],
  ])('accepts %s with %i lines', (name, size) => {
    expect(findLarge(new Map([['old', 20] as const, [name, size]]), rule)).toEqual([])
  })

  it.each([
    ['new', 11, 'new has 11 lines, more than 10: split it.'],
    ['old', 21, 'old has 21 lines, more than 20: split it.'],
    ['old', 10, 'old no longer needs its exception: remove it from this test.'],
  ])('reports %s with %i lines', (name, size, sentence) => {
    expect(findLarge(new Map([['old', 20] as const, [name, size]]), rule)).toEqual([sentence])
  })

  it('reports an exception that no longer exists', () => {
    expect(findLarge(new Map(), rule)).toEqual([
      'old no longer needs its exception: remove it from this test.',
    ])
  })
})

/** Returns a sentence for each name that exceeds the limit, and for each exception that is no longer needed. */
function findLarge(sizes: ReadonlyMap<string, number>, { limit, unit, exceptions, remedy }: Rule): string[] {
  const large = [...sizes].flatMap(([name, size]) => {
    const most = exceptions[name] ?? limit
    return size > most ? [`${name} has ${size} ${unit}, more than ${most}: ${remedy}.`] : []
  })
  const needless = Object.keys(exceptions).filter((name) => (sizes.get(name) ?? 0) <= limit)
  return [
    ...large,
    ...needless.map((name) => `${name} no longer needs its exception: remove it from this test.`),
  ]
}

function linesOf(file: string): number {
  return readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1
}
