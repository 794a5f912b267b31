/** Spool that is not open yet: calls are rejected, and give back what they borrowed. */

import { expect, it } from 'vitest'
import { MemoryBudget } from '../../../tunnel/src/envelope/body/memory-budget.ts'
import { MonitoredSpool } from '../../../tunnel/src/forward/monitored-spool.ts'
import { openUnreachable } from '../../../tunnel/src/store/unreachable.ts'
import { inOne, spoolEntryOf } from '../../support/spool/entries.ts'

it('keeping an envelope rejects, and returns its memory', async () => {
  const problem = new Error('NATS does not answer')
  const open = () => Promise.reject(problem)
  const store = openUnreachable({ open, problem, onNotice: () => {} })
  const body = Buffer.from('an envelope')
  const memory = new MemoryBudget(body.length, 0)
  const spool = new MonitoredSpool({
    ...{ store, memory, now: Date.now, onHealthChange: () => {} },
    clock: () => performance.now(),
  })
  await expect(spool.keep(await spoolEntryOf(body), inOne(body), { state: 'declined' })).rejects.toBe(problem)
  expect(memory.usedBytes()).toBe(0)
  await spool.close()
})
