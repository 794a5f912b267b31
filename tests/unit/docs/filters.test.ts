/** Descriptions of the filters and of the types of browser reports in docs. */

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { REPORT_TYPES } from '../../../contract/report-types.ts'
import { FILTER_NAMES } from '../../../contract/settings/parsers.ts'
import { SETTING_NAMES } from '../../../contract/settings.ts'

/** Returns the names in the first column of the tables of a page. */
function rowsOf(page: string): Set<string> {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8')
  const cells = [...text.matchAll(/^\| (`[^|]+`) \|/gm)].map(([, cell = '']) => cell)
  return new Set(cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)))
}

it('docs/filters.md has a row for each filter', () => {
  const settings = SETTING_NAMES.filter((name) => name.startsWith('FILTER_'))
  const filters = [...FILTER_NAMES.filter((name) => !name.startsWith('report-')), ...settings]
  const rows = rowsOf('filters.md')
  expect(filters.filter((name) => !rows.has(name))).toEqual([])
})

it('docs/install.md has a row for each type of report', () => {
  const rows = rowsOf('install.md')
  expect(REPORT_TYPES.filter((type) => !rows.has(type))).toEqual([])
})
