/** Skipped tests: told in plain sight, and in CI refused unless they are on a list. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readLeave, tellSkips } from '../../../scripts/test-skips.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const SKIPS = new Map([
  ['tests/stack/a.test.ts > the stack > starts', 'no Docker Engine answers'],
  ['tests/stack/a.test.ts > the stack > stops', 'no Docker Engine answers'],
  ['tests/browser/b.test.ts > a page', 'Chromium is not installed'],
])

it('skips are printed by their reasons, with how many there are', () => {
  const printed: string[] = []
  expect(tellSkips(SKIPS, undefined, (line) => printed.push(line))).toBe(0)
  expect(printed).toEqual([
    'Skipped, no Docker Engine answers (2):',
    '  tests/stack/a.test.ts > the stack > starts',
    '  tests/stack/a.test.ts > the stack > stops',
    'Skipped, Chromium is not installed (1):',
    '  tests/browser/b.test.ts > a page',
  ])
})

it('in CI only those are allowed that are listed with the same reason', async () => {
  await using folder = await makeFolder()
  mkdirSync(join(folder.path, '.ci'))
  const list =
    '# a comment: it says nothing\n\ntests/stack/: no Docker Engine answers\ntests/browser/: some other reason\n'
  writeFileSync(join(folder.path, '.ci/skips.txt'), list)
  expect(tellSkips(SKIPS, readLeave(folder.path), () => {})).toBe(1)
})

it('in CI every skip is refused when there is no list', async () => {
  await using folder = await makeFolder()
  expect(tellSkips(SKIPS, readLeave(folder.path), () => {})).toBe(3)
})
