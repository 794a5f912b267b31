/** Messages that the NATS server delivers again during their lease, as after a stall in which it received no confirmation. */

import { jetstreamManager } from '@nats-io/jetstream'
import { connect, nanos } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import type { Lease, Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { requires } from '../../support/requirements.ts'
import { ALL, LONG_MS } from '../../support/spool/entries.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'
import { expectNothing, putOne, store as putStored, takeAll } from '../../support/spool/operations.ts'

const STREAM = 'CULVERT_SPOOL_ERRORS'

describe('An entry that NATS delivers again during its lease', requires('nats'), () => {
  it('is not leased twice, and is due when its retry is postponed', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    const { key } = await putStored(spool)
    const [lease] = await takeAll(spool, 1)
    const nc = await connect({ servers: store.nats.server })
    const { consumers } = await jetstreamManager(nc)
    const [consumer] = await consumers.list(STREAM).next()
    const name = consumer?.name ?? ''
    await consumers.update(STREAM, name, { ack_wait: nanos(1_000) })
    const again: Lease[] = []
    const takeAgain = async () => {
      again.push(...(await spool.take(1, LONG_MS, ALL)))
      return (await consumers.info(STREAM, name)).delivered.consumer_seq
    }
    await expect.poll(takeAgain).toBeGreaterThan(3) // by then the first of these has arrived
    expect(again).toEqual([])
    await consumers.update(STREAM, name, { ack_wait: nanos(LONG_MS) })
    if (lease) await spool.postpone(lease, Date.now() - 1)
    expect((await takeAll(spool, 1)).map((due) => due.key)).toEqual([key])
    await nc.close()
  })
})

describe('An entry whose first attempt fails during the lease of its put', requires('nats'), () => {
  it.each([
    ['no replica has fetched it', async () => {}],
    ['another replica has postponed it', untilPutOff],
  ])('is due when its backoff ends, on any replica, when %s', async (_, before) => {
    await using store = await openStore()
    const [spool, other] = [await store.spool(), await store.spool()]
    const { entry, result } = await putOne(spool, {}, LONG_MS)
    await before(other)
    if (result.kind === 'stored') await spool.postpone(result.lease, Date.now() - 1)
    expect((await takeAll(other, 1)).map((due) => due.key)).toEqual([entry.key])
  })

  it('can be retried by an operator before its backoff ends', async () => {
    await using store = await openStore()
    const [spool, other] = [await store.spool(), await store.spool()]
    const { entry, result } = await putOne(spool, {}, LONG_MS)
    await untilPutOff(other)
    if (result.kind === 'stored') await spool.postpone(result.lease, Date.now() + LONG_MS)
    await expect.poll(() => spool.retry({})).toBe(1)
    expect((await takeAll(other, 1)).map((due) => due.key)).toEqual([entry.key])
  })
})

/** Resolves when the server has delivered the only entry to a replica, which has returned it. */
async function untilPutOff(spool: Spool): Promise<void> {
  const attempts = async () => {
    await expectNothing(spool)
    return (await spool.list({ order: 'newest', limit: 1 })).map((entry) => entry.attempts)
  }
  await expect.poll(attempts).toEqual([1])
}
