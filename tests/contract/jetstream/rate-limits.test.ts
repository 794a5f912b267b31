/** Rate limits in the bucket of a spool on NATS. */

import { rm } from 'node:fs/promises'
import { jetstream } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import type { Nats } from '../../support/nats/nats.ts'
import { requires } from '../../support/requirements.ts'
import { PROJECT } from '../../support/spool/entries.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'
import { limitOf } from '../../support/spool/limit-guarantees.ts'

const KEY = 'rate-limits'
const DAY = 24 * 60 * 60 * 1000

describe('Rate limits on NATS', requires('nats'), () => {
  it('removes limits that have ended, and those of a wrong clock, when a limit is added', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    const others = [
      { project: PROJECT, category: 'session', until: Date.now() - 1 },
      { project: PROJECT, category: 'replay', until: Date.now() + 2 * DAY },
    ]
    const limit = limitOf()
    await withBucket(store.nats, async (bucket) => {
      await bucket.put(KEY, JSON.stringify(others))
      await spool.addLimits([limit])
      expect((await bucket.get(KEY))?.json()).toEqual([limit])
    })
  })

  it('returns none after an operator deleted them, and those that are added later', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    await spool.addLimits([limitOf({ category: 'session' })])
    await withBucket(store.nats, (bucket) => bucket.delete(KEY))
    expect(await spool.limits()).toEqual([])
    const limit = limitOf()
    await spool.addLimits([limit])
    expect(await spool.limits()).toEqual([limit])
  })

  it('rejects while the server is away, and shares limits when it is back without its data', async () => {
    await using store = await openStore()
    const [spool, other] = [await store.spool(), await store.spool()]
    await spool.addLimits([limitOf()])
    await store.nats.kill()
    await expect(spool.limits()).rejects.toThrow()
    await expect(spool.addLimits([limitOf()])).rejects.toThrow()
    await rm(store.nats.store, { recursive: true, force: true })
    await store.nats.start()
    const limit = limitOf()
    // Both are connected again after a while. The probe creates the bucket again.
    const add = () => spool.probe().then(() => spool.addLimits([limit]))
    await expect.poll(() => add().then(() => 'added', String)).toBe('added')
    await expect.poll(() => other.limits().catch(String)).toEqual([limit])
  })
})

async function withBucket(nats: Nats, work: (bucket: KV) => Promise<unknown>): Promise<void> {
  const nc = await connect({ servers: nats.server })
  try {
    await work(await new Kvm(jetstream(nc)).open('CULVERT_SPOOL'))
  } finally {
    await nc.close()
  }
}
