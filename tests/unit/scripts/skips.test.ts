/** Skipped tests are printed, and rejected in CI unless they are on a list. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readAllowedSkips, reportSkips } from '../../../scripts/test.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const SKIPS = new Map([
  ['tests/stack/a.test.ts > the stack > starts', 'no Docker Engine answers'],
  ['tests/stack/a.test.ts > the stack > stops', 'no Docker Engine answers'],
  ['tests/browser/b.test.ts > a page', 'Chromium is not installed'],
])

it('prints skips by reason, with their number', () => {
  const printed: string[] = []
  expect(reportSkips(SKIPS, undefined, (line) => printed.push(line))).toBe(0)
  expect(printed).toEqual([
    'Skipped, no Docker Engine answers (2):',
    '  tests/stack/a.test.ts > the stack > starts',
    '  tests/stack/a.test.ts > the stack > stops',
    'Skipped, Chromium is not installed (1):',
    '  tests/browser/b.test.ts > a page',
  ])
})

it('allows only skips that the list contains with the same reason', async () => {
  await using folder = await makeFolder()
  mkdirSync(join(folder.path, '.ci'))
  const list =
    '# a comment: it says nothing\n\ntests/stack/: no Docker Engine answers\ntests/browser/: some other reason\n'
  writeFileSync(join(folder.path, '.ci/skips.txt'), list)
  expect(reportSkips(SKIPS, readAllowedSkips(folder.path), () => {})).toBe(1)
})

it('rejects every skip without a list', async () => {
  await using folder = await makeFolder()
  expect(reportSkips(SKIPS, readAllowedSkips(folder.path), () => {})).toBe(3)
})
