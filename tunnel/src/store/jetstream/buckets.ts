/** Key-value buckets on NATS: shared values, snapshots of the counters, and bundles of the SDK. */

import { DiscardPolicy, type JetStreamClient } from '@nats-io/jetstream'
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
  readonly bundles: BundleBucket
  readonly snapshots: SnapshotStore
  readonly clockOffsetMs: () => number
  readonly #js: JetStreamClient

  /** `replicas` is the number of copies. */
  constructor(js: JetStreamClient, replicas: number, clockOffsetMs: () => number) {
    this.bundles = new BundleBucket(js, replicas)
    this.snapshots = new SnapshotBuckets(js, replicas)
    this.clockOffsetMs = clockOffsetMs
    this.#js = js
  }

  async get(key: string): Promise<SharedValue> {
    const entry = await (await openBucket(this.#js)).get(VALUES + key)
    return { value: unlessDeleted(entry)?.string(), revision: entry?.revision ?? 0 }
  }

  async put(key: string, value: string, revision: number): Promise<boolean> {
    return putRevision(await openBucket(this.#js), VALUES + key, value, revision)
  }
}

/** Has a bucket for each step, from which the server removes old rows. */
class SnapshotBuckets implements SnapshotStore {
  readonly #js: JetStreamClient
  readonly #replicas: number

  constructor(js: JetStreamClient, replicas: number) {
    this.#js = js
    this.#replicas = replicas
  }

  async add(rows: readonly SnapshotRow[]): Promise<void> {
    const puts = rows.map(async ({ step, time, replica, data }) => {
      const bucket = await this.#open(step)
      const key = `${time}.${Buffer.from(replica).toString('base64url')}`
      await bucket.put(key, JSON.stringify({ replica, data }))
    })
    await Promise.all(puts)
  }

  async read(step: number, from: number): Promise<SnapshotRow[]> {
    const bucket = await this.#open(step)
    const rows: SnapshotRow[] = []
    for await (const entry of await bucket.history()) {
      const time = Number(entry.key.split('.', 1)[0])
      if (!unlessDeleted(entry) || !(time >= from)) continue
      rows.push({ step, time, ...entry.json<Pick<SnapshotRow, 'replica' | 'data'>>() })
    }
    return rows
  }

  /** Creates the bucket if it is missing: an operator may delete it at any time. */
  async #open(step: number): Promise<KV> {
    const name = `CULVERT_HISTORY_${step / 1000}S`
    const keepMs = SNAPSHOT_STEPS.find((each) => each.step === step)?.keepMs ?? step
    const bounds = { max_age: nanos(keepMs), max_bytes: SNAPSHOT_BYTES, num_replicas: this.#replicas }
    await ensureStream(await this.#js.jetstreamManager(false), bucketOf(name, bounds))
    return openBucket(this.#js, name)
  }
}

/** The server deletes a bundle that no replica has written for a day, and the oldest ones of a full bucket. */
export class BundleBucket implements BundleStore {
  readonly #js: JetStreamClient
  readonly #replicas: number

  constructor(js: JetStreamClient, replicas: number) {
    this.#js = js
    this.#replicas = replicas
  }

  async read(file: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const bucket = await openBucket(this.#js, BUNDLES)
    const entry = await bucket.get(file).catch((error) => {
      if (codeOf(error) !== NO_STREAM) throw error
      return undefined
    })
    return entry ? new Uint8Array(entry.value) : undefined
  }

  /** Creates the bucket if it is missing, or changes one that rejects new bundles or has too few copies. */
  async write(bundles: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const discard = DiscardPolicy.Old
    const bounds = { max_bytes: BUNDLE_BYTES, max_age: nanos(BUNDLES_KEPT_MS), num_replicas: this.#replicas }
    await ensureStream(
      await this.#js.jetstreamManager(false),
      bucketOf(BUNDLES, { ...bounds, discard }),
      (config) => ({ discard, num_replicas: Math.max(config.num_replicas, this.#replicas) }),
    )
    const bucket = await openBucket(this.#js, BUNDLES)
    for (const [file, bytes] of bundles) await bucket.put(file, bytes)
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
