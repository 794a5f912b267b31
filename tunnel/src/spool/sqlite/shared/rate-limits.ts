/** Rate limits of Sentry in the spool's SQLite file, which replicas share. */

import type { DatabaseSync } from 'node:sqlite'
import { MAX_LIMIT_SECONDS } from '../../../policy/rate-limits.ts'
import { MAX_SHARED_LIMITS, type SharedLimit } from '../../spool.ts'

/** Runs in a transaction of its caller. */
export class RateLimitTable {
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db)
  }

  limits(): SharedLimit[] {
    return this.#statements.current.all(Date.now()).map(({ project, category, until }) => ({
      ...{ project: String(project), category: String(category), until: Number(until) },
    }))
  }

  addLimits(limits: readonly SharedLimit[]): void {
    this.#statements.removeOthers.run(Date.now())
    for (const { project, category, until } of limits) this.#statements.add.run(project, category, until)
    this.#statements.removeExcess.run(MAX_SHARED_LIMITS)
  }
}

function prepare(db: DatabaseSync) {
  const isInForce = `until > ?1 AND until <= ?1 + ${MAX_LIMIT_SECONDS * 1000}`
  return {
    current: db.prepare(`SELECT project, category, until FROM rate_limits WHERE ${isInForce}`),
    removeOthers: db.prepare(`DELETE FROM rate_limits WHERE NOT (${isInForce})`),
    removeExcess: db.prepare(
      `DELETE FROM rate_limits WHERE (project, category) NOT IN
       (SELECT project, category FROM rate_limits ORDER BY until DESC LIMIT ?)`,
    ),
    add: db.prepare(
      `INSERT INTO rate_limits (project, category, until) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET until = max(until, excluded.until)`,
    ),
  }
}
