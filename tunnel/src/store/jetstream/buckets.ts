/** Key-value buckets on NATS: shared values, snapshots of the counters, and bundles of the SDK. */

import { DiscardPolicy, type JetStreamClient, type StreamConfig } from '@nats-io/jetstream'
import { type KV, type KvEntry, Kvm } from '@nats-io/kv'
import { nanos } from '@nats-io/transport-node'
import {
  BUNDLES_KEPT_MS,
  type BundleStore,
  type SharedState,
  type SharedValue,
  SNAPSHOT_STEPS,
  type SnapshotRow,
  type SnapshotStore,
} from '../../pipeline/shared-state.ts'
import { NAME } from './codec.ts'
import { bucketOf, codeOf, ensureStream, NO_STREAM, WRONG_SEQUENCE } from './streams.ts'

const VALUES = 'values.'
const SNAPSHOT_BYTES = 16 * 1024 * 1024 // of a step; a full bucket takes rows again when old ones are removed
const BUNDLES = 'CULVERT_SDK'
const BUNDLE_BYTES = 4 * 1024 * 1024 // the bundles of 25 releases

/** A failure of the server says nothing about entries: it is asked once. */
export class SharedBuckets implements SharedState {
  readonly clockOffsetMs: () => number
  /** Has a bucket for each step, from which the server removes old rows. */
  readonly snapshots: SnapshotStore = {
    add: async (rows) => {
      const puts = rows.map(async ({ step, time, replica, data }) => {
        const bucket = await this.#openStep(step)
        const key = `${time}.${Buffer.from(replica).toString('base64url')}`
        await bucket.put(key, JSON.stringify({ replica, data }))
      })
      await Promise.all(puts)
    },
    read: async (step, from) => {
      const rows: SnapshotRow[] = []
      for await (const entry of await (await this.#openStep(step)).history()) {
        const time = Number(entry.key.split('.', 1)[0])
        if (!unlessDeleted(entry) || !(time >= from)) continue
        rows.push({ step, time, ...entry.json<Pick<SnapshotRow, 'replica' | 'data'>>() })
      }
      return rows
    },
  }
  /** The server deletes a bundle that no replica has written for a day, and the oldest ones of a full bucket. */
  readonly bundles: BundleStore = {
    read: async (file) => {
      const bucket = await openBucket(this.#js, BUNDLES)
      const entry = await bucket.get(file).catch((error) => {
        if (codeOf(error) !== NO_STREAM) throw error
        return undefined
      })
      return entry ? new Uint8Array(entry.value) : undefined
    },
    write: async (bundles) => {
      const bounds = { max_bytes: BUNDLE_BYTES, max_age: nanos(BUNDLES_KEPT_MS), discard: DiscardPolicy.Old }
      const bucket = await this.#open(BUNDLES, bounds)
      for (const [file, bytes] of bundles) await bucket.put(file, bytes)
    },
  }
  readonly #js: JetStreamClient
  readonly #replicas: number

  /** `replicas` is the number of copies. */
  constructor(js: JetStreamClient, replicas: number, clockOffsetMs: () => number) {
    this.clockOffsetMs = clockOffsetMs
    this.#js = js
    this.#replicas = replicas
  }

  async get(key: string): Promise<SharedValue> {
    const entry = await (await openBucket(this.#js)).get(VALUES + key)
    return { value: unlessDeleted(entry)?.string(), revision: entry?.revision ?? 0 }
  }

  async put(key: string, value: string, revision: number): Promise<boolean> {
    return putRevision(await openBucket(this.#js), VALUES + key, value, revision)
  }

  #openStep(step: number): Promise<KV> {
    const keepMs = SNAPSHOT_STEPS.find((each) => each.step === step)?.keepMs ?? step
    const bounds = { max_age: nanos(keepMs), max_bytes: SNAPSHOT_BYTES, discard: DiscardPolicy.New }
    return this.#open(`CULVERT_HISTORY_${step / 1000}S`, bounds)
  }

  /** Creates a bucket that is missing, since an operator may delete it at any time, or changes one that discards otherwise or has too few copies. */
  async #open(name: string, bounds: Pick<StreamConfig, 'max_bytes' | 'max_age' | 'discard'>): Promise<KV> {
    const { discard } = bounds
    const wanted = bucketOf(name, { ...bounds, num_replicas: this.#replicas })
    await ensureStream(await this.#js.jetstreamManager(false), wanted, (config) => ({
      discard,
      num_replicas: Math.max(config.num_replicas, this.#replicas),
    }))
    return openBucket(this.#js, name)
  }
}

/** Opens a bucket, that of the spool unless named. A follower may not know its last values, and is not asked. */
export function openBucket(js: JetStreamClient, name = NAME): Promise<KV> {
  return new Kvm(js).open(name, { allow_direct: false })
}

/** Returns `undefined` for a key that is missing or was deleted. */
export function unlessDeleted(entry: KvEntry | null): KvEntry | undefined {
  return entry?.operation === 'PUT' ? entry : undefined
}

/** Returns `false` when the value has another revision. */
export async function putRevision(
  bucket: KV,
  key: string,
  value: string,
  revision: number,
): Promise<boolean> {
  try {
    await bucket.put(key, value, { previousSeq: revision })
    return true
  } catch (error) {
    if (codeOf(error) !== WRONG_SEQUENCE) throw error
    return false
  }
}
