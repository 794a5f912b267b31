/** Bundles of the SDK in a bucket on NATS. */

import { DiscardPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, nanos } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import { SharedBuckets } from '../../../tunnel/src/store/jetstream/buckets.ts'
import type { Nats } from '../../support/nats/nats.ts'
import { requires } from '../../support/requirements.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'

const FILE = 'errors-0123456789abcdef.js'
const HOUR_MS = 60 * 60 * 1000
const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()

describe('Bundles on NATS', requires('nats'), () => {
  it('are kept for a day', async () => {
    await using store = await openStore()
    await (await store.spool()).state.bundles.write(new Map())
    expect(await readLimits(store.nats)).toEqual({
      max_age: nanos(25 * HOUR_MS),
      max_bytes: 4 * 1024 * 1024,
      max_msgs_per_subject: 1,
    })
  })

  it('are stored again after an operator deleted the bucket', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    await spool.state.bundles.write(new Map([[FILE, Buffer.from('bundle')]]))
    await onStreams(store.nats, (streams) => streams.delete('KV_CULVERT_SDK'))
    await spool.state.bundles.write(new Map([[FILE, Buffer.from('again')]]))
    expect(text(await spool.state.bundles.read(FILE))).toBe('again')
  })

  it('drop the oldest ones from a full bucket, also from one that refused new ones', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    await spool.state.bundles.write(new Map())
    await onStreams(store.nats, (streams) =>
      streams.update('KV_CULVERT_SDK', { discard: DiscardPolicy.New, max_bytes: 200_000 }),
    )
    const files = Array.from({ length: 6 }, (_, index) => `errors-000000000000000${index}.js`)
    for (const file of files) await spool.state.bundles.write(new Map([[file, Buffer.alloc(50_000)]]))
    const found = await Promise.all(files.map((file) => spool.state.bundles.read(file)))
    expect(found.map((bytes) => bytes?.length)).toEqual([
      ...[undefined, undefined, undefined],
      ...[50_000, 50_000, 50_000],
    ])
  })

  it('ask the server for more copies when the setting is raised', async () => {
    await using store = await openStore()
    const nc = await connect({ servers: store.nats.server })
    try {
      await new SharedBuckets(jetstream(nc), 1, () => 0).bundles.write(new Map())
      const raised = new SharedBuckets(jetstream(nc), 3, () => 0).bundles.write(new Map())
      await expect(raised).rejects.toThrow(/replicas/) // one server cannot have them
    } finally {
      await nc.close()
    }
  })
})

type Streams = Awaited<ReturnType<typeof jetstreamManager>>['streams']

function readLimits(nats: Nats): Promise<object> {
  return onStreams(nats, async (streams) => {
    const { max_age, max_bytes, max_msgs_per_subject } = (await streams.info('KV_CULVERT_SDK')).config
    return { max_age, max_bytes, max_msgs_per_subject }
  })
}

async function onStreams<T>({ server }: Nats, work: (streams: Streams) => Promise<T>): Promise<T> {
  const nc = await connect({ servers: server })
  try {
    return await work((await jetstreamManager(nc)).streams)
  } finally {
    await nc.close()
  }
}
