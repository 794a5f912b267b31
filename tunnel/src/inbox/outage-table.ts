/** Simulated outage in the file of the inbox, so that all replicas that share the inbox refuse envelopes at the same time. */

import type { DatabaseSync } from 'node:sqlite'

/** Longest outage, in milliseconds. An end that is further away was written by a wrong clock, and is ignored. */
export const MAX_OUTAGE_MS = 3 * 60_000

/** Time after an outage in which none begins: visitors cannot keep one on until the spool is full. */
const PAUSE_MS = 3 * 60_000

export const OUTAGE_TABLE = `
  CREATE TABLE IF NOT EXISTS outage (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    until INTEGER NOT NULL,
    delivered INTEGER NOT NULL
  ) STRICT;
  INSERT OR IGNORE INTO outage (id, until, delivered) VALUES (1, 0, 0)`

export class OutageTable {
  readonly #statements: ReturnType<typeof prepare>
  readonly #now: () => number

  /** `now` is in milliseconds since 1970. */
  constructor(db: DatabaseSync, now: () => number) {
    this.#statements = prepare(db)
    this.#now = now
  }

  /** Begins an outage of `ms`. Returns `false` during one, and in the pause after it. */
  begin(ms: number): boolean {
    const now = this.#now()
    const until = now + Math.min(ms, MAX_OUTAGE_MS)
    return this.#statements.begin.run(until, now - PAUSE_MS, now + MAX_OUTAGE_MS).changes > 0
  }

  end(): void {
    if (this.remainingMs() > 0) this.#statements.end.run(this.#now())
  }

  /** Returns the milliseconds until the outage ends; 0 without one. */
  remainingMs(): number {
    const remainingMs = Number(this.#statements.read.get()?.until) - this.#now()
    return remainingMs > 0 && remainingMs <= MAX_OUTAGE_MS ? remainingMs : 0
  }

  /** Returns the envelopes that were delivered after an outage, since `reset`. */
  delivered(): number {
    return Number(this.#statements.read.get()?.delivered)
  }

  countDelivered(): void {
    this.#statements.count.run()
  }

  reset(): void {
    this.#statements.reset.run()
  }
}

function prepare(db: DatabaseSync) {
  return {
    read: db.prepare('SELECT until, delivered FROM outage'),
    begin: db.prepare('UPDATE outage SET until = ? WHERE until <= ? OR until > ?'),
    end: db.prepare('UPDATE outage SET until = ?'),
    count: db.prepare('UPDATE outage SET delivered = delivered + 1'),
    reset: db.prepare('UPDATE outage SET delivered = 0'),
  }
}
