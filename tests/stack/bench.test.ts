/** Benchmarks of cost, run as tests of their counters, not of speed. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { NODE } from '../support/node.ts'
import { startProgram } from '../support/program.ts'
import { requires } from '../support/requirements.ts'
import { makeFolder } from '../support/temporary-folder.ts'

const SUBJECTS = [
  'Culvert',
  'Culvert behind its nginx',
  'handleTunnelRequest on Hono',
  'prototype with the main duties',
  'nginx proxy_pass alone',
  'bare node:http + undici',
  'bare node:http behind bare nginx',
]
const SCENARIOS = ['100 project', '2 replica', 'console open', 'while spooling', 'while draining']

describe('The benchmark of cost', requires('proc', 'nginx'), () => {
  it('counts every envelope at sink, log, metrics and receipts, and writes table, numbers and chart', async () => {
    await using folder = await makeFolder()
    const args = ['bench/cost/cost.ts', '--quick', '--out', folder.path]
    const bench = startProgram('The benchmark', NODE, args, {})
    const { code } = await bench.exited
    expect({ code, said: code === 0 ? [] : bench.stderr }).toEqual({ code: 0, said: [] })

    const table = await readFile(join(folder.path, 'cost.md'), 'utf8')
    expect(bench.stdout.join('\n')).toContain(table)
    expect(table).not.toContain('NaN')
    for (const title of SUBJECTS)
      expect(table.split('\n').filter((row) => row.startsWith(`| ${title} |`))).toHaveLength(3)
    for (const title of SCENARIOS) expect(table).toContain(`\n| ${title}`)

    const { sideBySide, outages } = JSON.parse(await readFile(join(folder.path, 'cost.json'), 'utf8'))
    expect(Object.keys(sideBySide[0].rounds[0])).toHaveLength(SUBJECTS.length)
    expect(outages[0].spooling.posts).toBe(200)

    const picture = await readFile(join(folder.path, 'cost.svg'), 'utf8')
    const { document } = parseHTML(picture)
    expect(document.querySelector('svg > title')?.textContent).toContain('3.3 KB error, Culvert: ')
    expect(document.querySelectorAll('[aria-label=bar] rect')).toHaveLength(2 * SUBJECTS.length)
  }, 240_000) // 4 min: the machine may be busy
})

it(
  'the benchmark of a whole site includes an outage, and measures nginx, tunnel and disk',
  requires('proc', 'nginx'),
  async () => {
    const bench = startProgram('The benchmark', NODE, ['bench/cost/site.ts', '--quick'], {})
    const { code } = await bench.exited
    expect({ code, said: code === 0 ? [] : bench.stderr }).toEqual({ code: 0, said: [] })
    const figures = bench.stdout.flatMap((line) => /^\| (.+: .+) \| ([\d.]+) \|$/.exec(line)?.slice(1) ?? [])
    expect(figures.filter((_, i) => i % 2 === 0)).toHaveLength(9)
    expect(
      Number(figures[figures.indexOf('in an outage: disk, KB an envelope of 3.3 KB') + 1]),
    ).toBeGreaterThan(3)
  },
)
