/** State of the spool in a key-value bucket: pauses, and how many entries were there when a replica last looked. */

import type { StreamInfo } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import type { Pause } from '../spool.ts'
import { NAME, sumOf } from './codec.ts'
import type { Server } from './server.ts'
import { BACKSTOP_MS, codeOf } from './streams.ts'

/** Time of each pause by project, in milliseconds since 1970. */
export type Paused = Record<string, number>

/** Entries of one class, and the time at which its stream was created. */
type Seen = { created: number; entries: number }

/** Name of the pause of everything. */
export const ALL = ''

const WRONG_REVISION = 10071
const PAUSED = 'paused'
const SEEN = 'entries'
const PROBE = 'probe'

export class State {
  readonly #server: Server
  readonly #kvm: Kvm
  #paused: Paused = {}
  #pausedAt = -Infinity
  #seen: Seen[] = []
  #seenAt = -Infinity
  #lost = 0

  constructor(server: Server) {
    this.#server = server
    this.#kvm = new Kvm(server.js)
  }

  /** Entries that were lost, as far as this replica was first to notice. */
  get lost(): number {
    return this.#lost
  }

  /** Asks the server, unless the last answer is younger than `ageMs`. */
  async paused(ageMs: number): Promise<Paused> {
    if (performance.now() - this.#pausedAt >= ageMs) {
      this.#paused = await this.#onBucket(async (bucket) => (await bucket.get(PAUSED))?.json<Paused>() ?? {})
      this.#pausedAt = performance.now()
    }
    return this.#paused
  }

  async pauses(): Promise<Pause[]> {
    const paused = Object.entries(await this.paused(0))
    return paused.map(([project, since]) => ({ ...(project !== ALL && { project }), since }))
  }

  /** Replicas may change pauses at one moment: each starts from the last revision. */
  async changePauses(change: (paused: Paused) => Paused): Promise<void> {
    await this.#onBucket(async (bucket) => {
      for (;;) {
        const entry = await bucket.get(PAUSED)
        const changed = JSON.stringify(change(entry?.json<Paused>() ?? {}))
        try {
          return await bucket.put(PAUSED, changed, { previousSeq: entry?.revision ?? 0 })
        } catch (error) {
          if (codeOf(error) !== WRONG_REVISION) throw error
        }
      }
    })
    this.#pausedAt = -Infinity
  }

  /** Writes a value that nobody reads. */
  async probe(): Promise<void> {
    await this.#onBucket((bucket) => bucket.put(PROBE, ''))
  }

  /**
   * Compares the entries of each class with those that replicas noted, unless this one did so in the last `ageMs`. Lost are those of a stream
   * that was created again. After an absence in which `max_age` may have passed, those that are missing are lost, too; after a shorter one
   * they were settled. The replica that notes a loss first counts it.
   */
  async countLost(infos: readonly StreamInfo[], now: number, ageMs: number): Promise<void> {
    const seen = infos.map(({ created, state }): Seen => {
      return { created: Date.parse(created), entries: state.messages }
    })
    const isSame = seen.every(({ created }, i) => created === this.#seen[i]?.created)
    if (isSame && performance.now() - this.#seenAt < ageMs) {
      this.#seen = seen
      return
    }
    this.#seenAt = performance.now()
    await this.#onBucket(async (bucket) => {
      const noted = await bucket.get(SEEN)
      const before = noted?.json<Seen[]>() ?? []
      const isLong = noted !== null && noted.created.getTime() < now - BACKSTOP_MS
      const lost = seen.map(({ created, entries }, i) => {
        const most = before[i]?.entries ?? 0
        if (created !== before[i]?.created) return Math.max(most, this.#seen[i]?.entries ?? 0)
        return isLong ? Math.max(0, most - entries) : 0
      })
      await bucket.put(SEEN, JSON.stringify(seen), { previousSeq: noted?.revision ?? 0 })
      this.#lost += sumOf(lost)
      this.#seen = seen
    })
  }

  #onBucket<T>(ask: (bucket: KV) => Promise<T>): Promise<T> {
    const options = { allow_direct: false } // a follower may not know a pause yet
    return this.#server.insist(0, async () => ask(await this.#kvm.open(NAME, options)))
  }
}
