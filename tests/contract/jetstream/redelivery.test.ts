/** Messages that the NATS server delivers again although their lease goes on, as after a stall in which it received no confirmation. */

import { jetstreamManager } from '@nats-io/jetstream'
import { connect, nanos } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import type { Lease } from '../../../tunnel/src/spool/spool.ts'
import { requires } from '../../support/requirements.ts'
import { ALL, LONG_MS } from '../../support/spool/entries.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'
import { store as putStored, takeAll } from '../../support/spool/operations.ts'

const STREAM = 'CULVERT_SPOOL_ERRORS'

describe('An entry that is delivered again during its lease', {
  ...requires('nats'),
  timeout: 60_000,
}, () => {
  it('is not leased twice, and is due when its lease is put off', async () => {
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
