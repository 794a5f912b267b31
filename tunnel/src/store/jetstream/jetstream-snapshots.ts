/** Snapshots in key-value buckets of NATS, one for each step. The server removes old rows. */

import { StorageType } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { SNAPSHOT_STEPS, type SnapshotRow, type SnapshotStore } from '../../pipeline/shared-state.ts'
import type { Server } from './nats-server.ts'
import { codeOf, NAME_TAKEN } from './streams.ts'

const BUCKET_BYTES = 16 * 1024 * 1024 // 16 MiB; a full bucket takes rows again when old ones are removed

/** Asks the server once: a failure here says nothing about entries. */
export class SnapshotBuckets implements SnapshotStore {
  readonly #kvm: Kvm
  readonly #replicas: number

  /** `replicas` is the number of copies. */
  constructor(server: Server, replicas: number) {
    this.#kvm = new Kvm(server.js)
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
      if (entry.operation !== 'PUT' || !(time >= from)) continue
      const { replica, data } = entry.json<Pick<SnapshotRow, 'replica' | 'data'>>()
      rows.push({ step, time, replica, data })
    }
    return rows
  }

  /** Creates the bucket if it is missing: an operator may delete it at any time. */
  #open(step: number): Promise<KV> {
    const name = `CULVERT_HISTORY_${step / 1000}S`
    const ttl = SNAPSHOT_STEPS.find((each) => each.step === step)?.keepMs ?? step
    const storage = StorageType.File
    const options = { history: 1, ttl, max_bytes: BUCKET_BYTES, storage, replicas: this.#replicas }
    return this.#kvm.create(name, options).catch((error) => {
      if (codeOf(error) === NAME_TAKEN) return this.#kvm.open(name) // another release created it
      throw error
    })
  }
}
