/** Values in the bucket of a spool on NATS. */

import { rm } from 'node:fs/promises'
import { jetstream } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import type { Nats } from '../../support/nats/nats.ts'
import { requires } from '../../support/requirements.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'

const KEY = 'values.a'

describe('Shared values on NATS', requires('nats'), () => {
  it('returns none after an operator deleted them, and those that are stored later', async () => {
    await using store = await openStore()
    const { state } = await store.spool()
    await state.put('a', '1', 0)
    await withBucket(store.nats, (bucket) => bucket.delete(KEY))
    const { value, revision } = await state.get('a')
    expect(value).toBeUndefined()
    expect(await state.put('a', '2', revision)).toBe(true)
    expect(await state.get('a')).toMatchObject({ value: '2' })
  })

  it('rejects while the server is away, and shares values when it is back without its data', async () => {
    await using store = await openStore()
    const [spool, other] = [await store.spool(), await store.spool()]
    await spool.state.put('a', '1', 0)
    await store.nats.kill()
    await expect(spool.state.get('a')).rejects.toThrow()
    await expect(spool.state.put('b', '1', 0)).rejects.toThrow()
    await rm(store.nats.store, { recursive: true, force: true })
    await store.nats.start()
    // Both are connected again after a while. The probe creates the bucket again.
    const put = () => spool.probe().then(() => spool.state.put('a', '2', 0))
    await expect.poll(() => put().catch(String)).toBe(true)
    await expect.poll(() => other.state.get('a').catch(String)).toMatchObject({ value: '2' })
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
