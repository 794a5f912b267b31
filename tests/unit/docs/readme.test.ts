/** README: length, figures, settings and links. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SETTING_NAMES } from '../../../contract/settings.ts'
import { ROOT } from '../../support/node.ts'

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

/** Row of the comparison in README, and the situation of the benchmark that it shows. */
const COMPARISON = [
  ['ad blocker on', 'ad-block lists on'],
  ['Sentry down for 30 s', 'Sentry down for 30 s'],
  ['segments of a session replay, Sentry down for 30 s', 'session replay, Sentry down for 30 s'],
  ['redeploy of the app server or tunnel', 'tunnel or app server redeployed'],
] as const

describe('README.md', () => {
  const readme = read('README.md')

  it('has at most 200 lines', () => {
    expect(readme.split('\n').length - 1).toBeLessThanOrEqual(200)
  })

  it.each(COMPARISON)('shows the measured shares in the row %j', (row, situation) => {
    const measured = cellsOf(read('docs/bench/delivery.md'), situation).slice(2, 5)
    const shown = cellsOf(readme, row).slice(1, 4)
    expect(shown).toHaveLength(3)
    for (const [n, share] of shown.entries())
      expect(measured[n]?.startsWith(share.replaceAll('*', '')), `${share} of ${measured[n]}`).toBe(true)
  })

  it('shows ten settings, all of which exist', () => {
    const [, table = ''] = /^## Configuration\n([\s\S]*?)\n## /m.exec(readme) ?? []
    const names = [...table.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name = '']) => name)
    expect(names).toHaveLength(10)
    expect(SETTING_NAMES).toEqual(expect.arrayContaining(names))
  })

  it('links to every page of docs/', () => {
    const pages = readdirSync(join(ROOT, 'docs')).filter((name) => /\.(md|yaml)$/.test(name))
    expect(pages.length).toBeGreaterThan(12)
    expect(pages.filter((name) => !readme.includes(`](docs/${name})`))).toEqual([])
  })
})

function cellsOf(text: string, title: string): string[] {
  const row = text.split('\n').find((line) => line.startsWith(`| ${title} |`)) ?? ''
  return row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}
