/** Counters that are told when somebody looks. */

import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createTally } from '../../../tunnel/src/telemetry/buffered-counter.ts'

describe('A tally', () => {
  it('counts every row of label values once, however often somebody looks', async () => {
    const registry = new Registry()
    const tally = createTally({
      name: 'seen_total',
      help: 'Seen.',
      labelNames: ['answer', 'project'],
      registers: [registry],
    })
    const rows = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('seen'))
    expect(await rows()).toEqual([])
    tally.add(1, 'delivered', 'a')
    tally.add(2, 'delivered', 'b')
    tally.add(0, 'refused', '')
    tally.add(3, 'delivered', 'a')
    const first = [
      'seen_total{answer="delivered",project="a"} 4',
      'seen_total{answer="delivered",project="b"} 2',
      'seen_total{answer="refused",project=""} 0',
    ]
    expect(await rows()).toEqual(first)
    expect(await rows()).toEqual(first)
    tally.add(1, 'delivered', 'b')
    expect((await rows())[1]).toBe('seen_total{answer="delivered",project="b"} 3')
  })
})
