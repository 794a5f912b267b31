/** Bucket of the bundles of the SDK, for replicas of several machines. */

import { type JetStreamClient, StorageType } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { BUNDLES_KEPT_MS, type BundleStore } from '../spool.ts'

const BUCKET = 'CULVERT_SDK'
const MAX_BYTES = 4 * 1024 * 1024 // the bundles of 25 releases

/** Opens the bucket with each call, since it may have been deleted. The server deletes a bundle that no replica has written for a day. */
export class BundleBucket implements BundleStore {
  readonly #js: JetStreamClient
  readonly #replicas: number

  constructor(js: JetStreamClient, replicas: number) {
    this.#js = js
    this.#replicas = replicas
  }

  async read(file: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const bucket = await new Kvm(this.#js).open(BUCKET, { allow_direct: false }) // a follower may not know it yet
    const entry = await bucket.get(file)
    return entry ? new Uint8Array(entry.value) : undefined
  }

  async write(bundles: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const bucket = await this.#create()
    for (const [file, bytes] of bundles) await bucket.put(file, bytes)
  }

  #create(): Promise<KV> {
    const bounds = { max_bytes: MAX_BYTES, ttl: BUNDLES_KEPT_MS, history: 1, allow_direct: false }
    return new Kvm(this.#js).create(BUCKET, {
      ...bounds,
      storage: StorageType.File,
      replicas: this.#replicas,
    })
  }
}
