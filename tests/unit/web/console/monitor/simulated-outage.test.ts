/** Simulated outage of Sentry in the figures of the console. */

import { expect, it } from 'vitest'
import { Monitor, simulatedOutageOf } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { summarise } from '../../../../../web/features/console/monitor/snapshot.ts'
import { figuresOf, quietStatus } from '../../../../support/web/figures.ts'

const outageOf = (remaining_ms: number) => ({ simulated_outage: { remaining_ms, pending: 3, delivered: 0 } })

it('ends when the last of several does', () => {
  expect(simulatedOutageOf([outageOf(2_000), outageOf(3_000), {}])).toBe(3_000)
})

it('is absent with a Sentry, and after its end', () => {
  expect(simulatedOutageOf([{}, outageOf(0)])).toBeUndefined()
})

it('is part of the overview', async () => {
  const monitor = new Monitor({
    origins: async () => ['http://tunnel'],
    ask: async () => quietStatus('r', outageOf(9_000)),
    askFigures: async () => figuresOf(),
    now: () => 0,
  })
  expect(summarise(await monitor.snapshot(0), {}).simulatedOutage).toBe(9_000)
})
