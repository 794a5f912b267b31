/** Stores on NATS servers, for the contract of the spool. */

import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import type { Spool, SpoolBounds } from '../../../tunnel/src/pipeline/spool.ts'
import { storedBytes } from '../../../tunnel/src/store/jetstream/codec.ts'
import { openJetStreamSpool } from '../../../tunnel/src/store/jetstream/jetstream-spool.ts'
import { type Nats, type NatsOptions, startNats } from '../nats/nats.ts'
import { PLENTY } from './entries.ts'
import type { Store } from './guarantees.ts'

export type NatsStore = Store & { nats: Nats }

const DAY_MS = 24 * 60 * 60 * 1000

/** Opens a store on a NATS server of its own. */
export async function openStore(bounds: SpoolBounds = PLENTY, options?: NatsOptions): Promise<NatsStore> {
  const nats = await startNats(options)
  return createStore(nats, bounds, () => nats[Symbol.asyncDispose]())
}

/** Opens an empty store on a running NATS server; disposing it deletes its streams. */
export async function openStoreOn(nats: Nats, bounds: SpoolBounds): Promise<NatsStore> {
  return createStore(nats, bounds, () => deleteStreams(nats))
}

function createStore(nats: Nats, bounds: SpoolBounds, dispose: () => Promise<void>): NatsStore {
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
      await dispose()
    },
  }
}

async function deleteStreams({ server }: Nats): Promise<void> {
  const nc = await connect({ servers: server })
  const jsm = await jetstreamManager(nc)
  for (const name of await Array.fromAsync(jsm.streams.names())) await jsm.streams.delete(name)
  await nc.close()
}

export function openSpoolOn(
  { server }: Pick<Nats, 'server'>,
  bounds: SpoolBounds = PLENTY,
  now: () => number = Date.now,
  serverNow?: () => number,
  onNotice?: (notice: string) => void,
): Promise<Spool> {
  const address = { servers: [server], tls: false, replicas: 1, credentials: undefined }
  return openJetStreamSpool(address, { ...bounds, ageMs: DAY_MS }, now, onNotice, serverNow)
}
