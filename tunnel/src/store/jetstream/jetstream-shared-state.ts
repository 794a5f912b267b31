/** Values in the bucket of the spool, and the buckets of snapshots and of the SDK's bundles. */

import { type KV, Kvm } from '@nats-io/kv'
import type { SharedState, SharedValue } from '../../pipeline/shared-state.ts'
import { BundleBucket } from './bundles.ts'
import { NAME } from './codec.ts'
import { SnapshotBuckets } from './jetstream-snapshots.ts'
import type { Server } from './nats-server.ts'
import { codeOf, WRONG_SEQUENCE } from './streams.ts'

const VALUES = 'values.'

/** A failure of the server says nothing about entries: it is asked once. */
export class SharedBuckets implements SharedState {
  readonly bundles: BundleBucket
  readonly snapshots: SnapshotBuckets
  readonly clockOffsetMs: () => number
  readonly #kvm: Kvm

  constructor(server: Server, replicas: number, clockOffsetMs: () => number) {
    this.bundles = new BundleBucket(server.js, replicas)
    this.snapshots = new SnapshotBuckets(server, replicas)
    this.clockOffsetMs = clockOffsetMs
    this.#kvm = new Kvm(server.js)
  }

  async get(key: string): Promise<SharedValue> {
    const entry = await (await openBucket(this.#kvm)).get(VALUES + key)
    return {
      value: entry?.operation === 'PUT' ? entry.string() : undefined,
      revision: entry?.revision ?? 0,
    }
  }

  async put(key: string, value: string, revision: number): Promise<boolean> {
    return putRevision(await openBucket(this.#kvm), VALUES + key, value, revision)
  }
}

/** Opens the bucket of the spool. A follower may not know its last values, and is not asked. */
export function openBucket(kvm: Kvm): Promise<KV> {
  return kvm.open(NAME, { allow_direct: false })
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
