/** State of the spool in a key-value bucket: pauses, and how many entries were there when it was last looked at. */

import type { KV } from '@nats-io/kv'
import type { Pause } from '../spool.ts'
import { BACKSTOP_MS, codeOf } from './connection.ts'
import type { Health } from './health.ts'

/** Time of each pause by project, in milliseconds since 1970. */
export type Paused = Record<string, number>

/** Entries of one class when a replica last looked, and the time at which its stream was created. */
type Seen = { created: string; entries: number }

/** Name of the pause of everything. */
export const ALL = ''

const WRONG_REVISION = 10071
const PAUSED = 'paused'
const SEEN = 'entries'
const PROBE = 'probe'
const SEEN_MS = 10_000

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
    if (performance.now() - this.#seenAt >= SEEN_MS) await this.write(counts)
  }

  /** Stores the number of entries of each class. */
  async write(counts: readonly number[]): Promise<void> {
    this.#seenAt = performance.now()
    await this.#health.streams.state.put(SEEN, this.#encodeSeen(counts))
  }

  /**
   * Returns how many entries were lost while there was no replica: those of streams that were created again, and, after an absence in
   * which `max_age` may have passed, those that are missing. After a shorter absence, missing ones were settled. One replica counts them.
   */
  countLost(counts: readonly number[], now: number): Promise<number> {
    return this.#onBucket(async (bucket) => {
      const entry = await bucket.get(SEEN)
      if (!entry) return 0
      const isLong = entry.created.getTime() < now - BACKSTOP_MS
      let [lost, missing] = [0, 0]
      for (const [priority, { created, entries }] of entry.json<Seen[]>().entries()) {
        const info = this.#health.streams.classes[priority]?.info
        if (Date.parse(created) === Date.parse(info?.created ?? ''))
          missing += isLong ? Math.max(0, entries - (counts[priority] ?? 0)) : 0
        else if (info && (await this.#health.claimLoss(priority, info))) lost += entries
      }
      if (missing === 0) return lost
      const isFirst = bucket.update(SEEN, this.#encodeSeen(counts), entry.revision)
      return isFirst.then(
        () => lost + missing,
        () => lost,
      )
    })
  }

  #encodeSeen(counts: readonly number[]): string {
    const seen = this.#health.streams.classes.map(
      ({ info }, i): Seen => ({ created: info.created, entries: counts[i] ?? 0 }),
    )
    return JSON.stringify(seen)
  }

  #onBucket<T>(ask: (bucket: KV) => Promise<T>): Promise<T> {
    return this.#health.insist(0, () => ask(this.#health.streams.state))
  }
}
