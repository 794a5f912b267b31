/** The spool on a NATS server that stops answering for longer than a tunnel waits, and then carries out what it was asked. */

import { describe, expect, it } from 'vitest'
import type { Spool } from '../../../tunnel/src/spool/spool.ts'
import type { Nats } from '../../support/nats/nats.ts'
import { requires } from '../../support/requirements.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'
import { store as putStored, takeAll } from '../../support/spool/operations.ts'

const MISSING = { id: 4, key: 'none' }

describe('A NATS server that stalls', { ...requires('nats-server'), timeout: 60_000 }, () => {
  it('has each delivery told that it deleted after the tunnel stopped waiting', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    for (let n = 0; n < 10; n++) await putStored(spool)
    const leases = await takeAll(spool, 10)
    stop(store.nats)
    const finished = Promise.all(leases.map((lease) => spool.finish(lease)))
    await untilGivenUp(spool)
    resume(store.nats)
    expect(await finished).toEqual(leases.map(() => true))
  })
})

/** Resolves when requests that began no later than this one have been given up. */
async function untilGivenUp(spool: Spool): Promise<void> {
  await expect(spool.find(MISSING)).rejects.toThrow(/^NATS does not answer/)
}

function stop(nats: Nats): void {
  process.kill(nats.pid() as number, 'SIGSTOP')
}

function resume(nats: Nats): void {
  process.kill(nats.pid() as number, 'SIGCONT')
}
