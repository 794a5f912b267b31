/** A spool on a NATS server of its own, for the promises to be tried on. */

import { storedBytes } from '../../../tunnel/src/spool/jetstream/codec.ts'
import { openJetStreamSpool } from '../../../tunnel/src/spool/jetstream/store.ts'
import type { Spool, SpoolBounds } from '../../../tunnel/src/spool/spool.ts'
import { type Nats, type NatsOptions, startNats } from '../nats/nats.ts'
import { PLENTY } from './entries.ts'
import type { Store } from './guarantees.ts'

export type NatsStore = Store & { nats: Nats }

const DAY_MS = 24 * 60 * 60 * 1000

export async function openStore(bounds: SpoolBounds = PLENTY, options?: NatsOptions): Promise<NatsStore> {
  const nats = await startNats(options)
  const open = new Set<Spool>()
  const closeAll = async () => {
    await Promise.all([...open].map((spool) => spool.close()))
    open.clear()
  }
  return {
    nats,
    async spool() {
      const spool = await openSpoolOn(nats, bounds)
      open.add(spool)
      return spool
    },
    closeAll,
    weigh: storedBytes,
    async [Symbol.asyncDispose]() {
      await closeAll()
      await nats[Symbol.asyncDispose]()
    },
  }
}

export function openSpoolOn(
  { server }: Pick<Nats, 'server'>,
  bounds: SpoolBounds = PLENTY,
  now: () => number = Date.now,
): Promise<Spool> {
  const address = { servers: [server], tls: false, replicas: 1, credentials: undefined }
  return openJetStreamSpool(address, { ...bounds, ageMs: DAY_MS }, now)
}
