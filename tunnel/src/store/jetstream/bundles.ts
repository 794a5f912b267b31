/** Bucket of the bundles of the SDK, for replicas of several machines. */

import { DiscardPolicy, type JetStreamClient, StorageType } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { BUNDLES_KEPT_MS, type BundleStore } from '../../pipeline/shared-state.ts'
import { codeOf, NO_STREAM } from './streams.ts'

const BUCKET = 'CULVERT_SDK'
const STREAM = `KV_${BUCKET}`
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
    const entry = await bucket.get(file).catch((error) => {
      if (codeOf(error) !== NO_STREAM) throw error
      return undefined
    })
    return entry ? new Uint8Array(entry.value) : undefined
  }

  async write(bundles: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const bucket = await this.#create()
    for (const [file, bytes] of bundles) await bucket.put(file, bytes)
  }

  /** Creates the bucket, or changes one that has too few copies. A full bucket drops its oldest bundles, unlike other buckets. */
  async #create(): Promise<KV> {
    const bounds = { max_bytes: MAX_BYTES, ttl: BUNDLES_KEPT_MS, history: 1, allow_direct: false }
    const storage = { storage: StorageType.File, replicas: this.#replicas }
    const bucket = await new Kvm(this.#js).create(BUCKET, { ...bounds, ...storage })
    const { streams } = await this.#js.jetstreamManager(false)
    const { config } = await streams.info(STREAM)
    const num_replicas = Math.max(config.num_replicas, this.#replicas)
    if (config.discard !== DiscardPolicy.Old || config.num_replicas !== num_replicas)
      await streams.update(STREAM, { discard: DiscardPolicy.Old, num_replicas })
    return bucket
  }
}
