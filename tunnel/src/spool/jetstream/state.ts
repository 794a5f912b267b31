/** State of the spool in a key-value bucket: pauses, and how many entries were there when it was last looked at. */

import type { KV } from '@nats-io/kv'
import type { Pause } from '../spool.ts'
import { codeOf } from './connection.ts'
import type { Health } from './health.ts'

/** Time of each pause by project, in milliseconds since 1970. */
export type Paused = Record<string, number>

/** Name of the pause of everything. */
export const ALL = ''

const WRONG_REVISION = 10071
const PAUSED = 'paused'
const SEEN = 'seen'
const PROBE = 'probe'
const SEEN_MS = 10_000
const UNSEEN_MS = 60_000 // no replica was there

export class State {
  readonly #health: Health
  #seenAt = -Infinity

  constructor(health: Health) {
    this.#health = health
  }

  paused(): Promise<Paused> {
    return this.#onBucket(async (bucket) => (await bucket.get(PAUSED))?.json<Paused>() ?? {})
  }

  async pauses(): Promise<Pause[]> {
    const paused = Object.entries(await this.paused())
    return paused.map(([project, since]) => ({ ...(project !== ALL && { project }), since }))
  }

  /** Replicas may change pauses at one moment: each starts from the last revision. */
  changePauses(change: (paused: Paused) => Paused): Promise<void> {
    return this.#onBucket(async (bucket) => {
      for (;;) {
        const entry = await bucket.get(PAUSED)
        const changed = JSON.stringify(change(entry?.json<Paused>() ?? {}))
        try {
          await bucket.put(PAUSED, changed, { previousSeq: entry?.revision ?? 0 })
          return
        } catch (error) {
          if (codeOf(error) !== WRONG_REVISION) throw error
        }
      }
    })
  }

  /** Writes a value that nobody reads. */
  probe(): Promise<void> {
    return this.#onBucket(async (bucket) => {
      await bucket.put(PROBE, '')
    })
  }

  /** Stores the number of entries of each class, every ten seconds. */
  async remember(counts: readonly number[]): Promise<void> {
    if (performance.now() - this.#seenAt < SEEN_MS) return
    this.#seenAt = performance.now()
    await this.#health.streams.state.put(SEEN, JSON.stringify(counts))
  }

  /** Returns how many entries the server has deleted, as too old or with a stream, while there was no replica. One replica counts them. */
  countLost(counts: readonly number[], now: number): Promise<number> {
    return this.#onBucket(async (bucket) => {
      const entry = await bucket.get(SEEN)
      if (!entry || entry.created.getTime() > now - UNSEEN_MS) return 0
      const lost = entry
        .json<number[]>()
        .reduce((sum, seen, i) => sum + Math.max(0, seen - (counts[i] ?? 0)), 0)
      const isFirst = bucket.update(SEEN, JSON.stringify(counts), entry.revision)
      return isFirst.then(
        () => lost,
        () => 0,
      )
    })
  }

  #onBucket<T>(ask: (bucket: KV) => Promise<T>): Promise<T> {
    return this.#health.insist(0, () => ask(this.#health.streams.state))
  }
}
