/** Benchmark of delivery, run as a test: compares the errors of the pages with those at Sentry. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import type { LoadingResults } from '../../bench/delivery/loading/loading.ts'
import type { Results } from '../../bench/delivery/results.ts'
import { totalsOf } from '../../bench/delivery/totals.ts'
import { NODE } from '../support/node.ts'
import { startProgram } from '../support/program.ts'
import { requires } from '../support/requirements.ts'
import { makeFolder } from '../support/temporary-folder.ts'

const AWAY = 'Sentry down for 30 s'
const NOTHING_WRONG = 'nothing wrong'
const FAILING = 'Sentry failing, every third response is 500'

describe('The benchmark of delivery', requires('chromium', 'nginx'), () => {
  it('compares the errors in the page with those at Sentry: all arrive through Culvert, and others lose some', async () => {
    await using folder = await makeFolder()
    const args = ['bench/delivery/delivery.ts', '--quick', '--out', folder.path]
    const bench = startProgram('The benchmark', NODE, args, {})
    const { code } = await bench.exited
    expect({ code, said: code === 0 ? [] : bench.stderr }).toEqual({ code: 0, said: [] })

    const { scenarios }: Results = JSON.parse(await readFile(join(folder.path, 'delivery.json'), 'utf8'))
    expect(scenarios).toHaveLength(4)
    for (const { title, rounds } of scenarios) {
      const { captured, sent, arrived } = totalsOf(rounds, 'culvert')
      expect({ title, sent, arrived }).toEqual({ title, sent: captured, arrived: captured })
      for (const subject of ['direct', 'handler'] as const) {
        const other = totalsOf(rounds, subject)
        if (title === FAILING) expect(other.arrived, subject).toBeLessThan(other.sent)
        if (title === NOTHING_WRONG) expect(other.arrived, subject).toBe(other.sent)
      }
    }

    const { situations }: LoadingResults = JSON.parse(
      await readFile(join(folder.path, 'loading.json'), 'utf8'),
    )
    expect(situations).toHaveLength(6)
    for (const { title, samples } of situations)
      for (const { subject, raised, arrived } of samples)
        if (subject === 'culvert' || title === 'nothing blocked, visitor online')
          expect({ title, subject, arrived }).toEqual({ title, subject, arrived: raised })
    const firstScript = situations.find(({ title }) => title.includes('first script'))
    expect(firstScript?.samples).toMatchObject([{}, { subject: 'handler', arrived: 0 }, {}])
    const offline = situations.filter(({ title }) => title.includes('offline'))
    expect(offline).toHaveLength(2)
    for (const { samples } of offline)
      expect(samples).toMatchObject([{ arrived: 0 }, { arrived: 0 }, { subject: 'culvert' }])

    const tables = await readFile(join(folder.path, 'delivery.md'), 'utf8')
    expect(bench.stdout.join('\n')).toContain(tables.trim())
    for (const { title } of scenarios) expect(tables.split(`\n| ${title} |`)).toHaveLength(3)
    expect(tables).not.toContain('NaN')
    const { document } = parseHTML(await readFile(join(folder.path, 'delivery.svg'), 'utf8'))
    expect(document.querySelector('title')?.textContent).toContain(`${AWAY}, Culvert: 100 %`)
  }, 400_000) // longer than the limits of the benchmark, whose errors name the missing reports
})
