/** The benchmark as a check of correctness: everybody counts alike. Nothing is said of speed. */

import { expect, it } from 'vitest'
import { NODE } from '../helpers/node.ts'
import { startProgram } from '../helpers/program.ts'
import { requires } from '../helpers/requirements.ts'

it('the benchmark counts every envelope at the sink, in the log, in the metrics and in the receipts, and prints its table', {
  ...requires('proc'),
  timeout: 60_000,
}, async () => {
  const bench = startProgram('The benchmark', NODE, ['tests/bench/tunnel.ts', '--quick'], {})
  const { code } = await bench.exited
  expect({ code, said: code === 0 ? [] : bench.stderr }).toEqual({ code: 0, said: [] })
  const rows = bench.stdout.filter((line) => /^\| .+ \|$/.test(line))
  expect(rows[0]).toContain('| Culvert | handleTunnelRequest')
  expect(rows.filter((row) => row.includes('CPU per envelope'))).toHaveLength(5)
  expect(rows.join()).not.toContain('NaN')
})

it('the benchmark of a whole site carries an outage, and tells what nginx, the tunnel and the disk took', {
  ...requires('proc', 'nginx'),
  timeout: 60_000,
}, async () => {
  const bench = startProgram('The benchmark', NODE, ['tests/bench/site.ts', '--quick'], {})
  const { code } = await bench.exited
  expect({ code, said: code === 0 ? [] : bench.stderr }).toEqual({ code: 0, said: [] })
  const figures = bench.stdout.flatMap((line) => /^\| (.+: .+) \| ([\d.]+) \|$/.exec(line)?.slice(1) ?? [])
  expect(figures.filter((_, i) => i % 2 === 0)).toHaveLength(9)
  expect(
    Number(figures[figures.indexOf('in an outage: disk, KB an envelope of 3.3 KB') + 1]),
  ).toBeGreaterThan(3)
})
