/** Simulated outage of Sentry in the figures of the console. */

import { expect, it } from 'vitest'
import { Monitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { simulatedOutageOf } from '../../../../../web/features/console/monitor/simulated-outage.ts'
import { summarise } from '../../../../../web/features/console/monitor/snapshot.ts'
import { figuresOf, quietStatus } from '../../../../support/web/figures.ts'

const outageIn = (inbox: string, remaining_ms: number, pending: number) => ({
  history_store: inbox,
  simulated_outage: { remaining_ms, pending, delivered: 0 },
})

it('counts the pending envelopes of an inbox once, whichever replicas share it', () => {
  const statuses = [outageIn('a', 2_000, 3), outageIn('a', 2_000, 3), outageIn('b', 0, 4), {}]
  expect(simulatedOutageOf(statuses)).toEqual({ remaining_ms: 2_000, pending: 7 })
})

it('is absent with a Sentry, and when nothing of it is left', () => {
  expect(simulatedOutageOf([{}, outageIn('a', 0, 0)])).toBeUndefined()
})

it('is part of the overview', async () => {
  const monitor = new Monitor({
    origins: async () => ['http://tunnel'],
    ask: async () => quietStatus('r', outageIn('a', 9_000, 5)),
    askFigures: async () => figuresOf(),
    now: () => 0,
  })
  expect(summarise(await monitor.snapshot(0), {}).simulatedOutage).toEqual({
    remaining_ms: 9_000,
    pending: 5,
  })
})
