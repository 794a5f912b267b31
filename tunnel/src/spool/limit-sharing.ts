/** Sharing of Sentry's rate limits among the replicas of one spool, so that a limit costs one request and not one per replica. */

import type { UpstreamLimits } from '../policy/upstream-limits.ts'
import type { Projects } from '../projects.ts'
import type { SharedLimit, Spool } from './spool.ts'

export type LimitSharingDeps = {
  spool: Pick<Spool, 'limits' | 'addLimits'>
  limits: UpstreamLimits
  projects: Projects
  /** Milliseconds since 1970. */
  now: () => number
}

const POLL_MS = 1_000
// Some responses set a minute from now each time. A limit is published again when it lasts longer by a quarter.
const MIN_GAIN = 1 / 4
const MIN_GAIN_MS = 1_000
const MAX_LIMITS = 500
const MAX_KEY_LENGTH = 512

/** When the spool fails, each replica applies the limits that it learned itself, as without sharing. */
export class LimitSharing {
  readonly #deps: LimitSharingDeps
  /** End of each shared limit by name, as of the last poll, and of those that this replica has published since. */
  #shared = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #isPolling = false

  constructor(deps: LimitSharingDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#deps.limits.listen(() => void this.#publish())
    this.#timer = setInterval(() => void this.#poll(), POLL_MS).unref()
    void this.#poll()
  }

  stop(): void {
    this.#deps.limits.listen(() => {})
    clearInterval(this.#timer)
  }

  /**
   * Adopts new shared limits. Those of the last poll are adopted already, or were dropped since the clock was set back. Then publishes those
   * that are missing, since the spool failed or lost them.
   */
  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    const { spool, limits, projects } = this.#deps
    try {
      const shared = await spool.limits()
      const known = this.#shared
      this.#shared = new Map(shared.map((limit) => [nameOf(limit), limit.until]))
      for (const limit of shared) {
        if (known.get(nameOf(limit)) === limit.until) continue
        const project = projects.byKey(limit.project)
        if (project) limits.adopt({ ...limit, project })
      }
      await this.#publish()
    } catch {
      // The next poll tries again.
    } finally {
      this.#isPolling = false
    }
  }

  /** Publishes limits that are new or last longer. Never rejects. */
  async #publish(): Promise<void> {
    const published: SharedLimit[] = []
    for (const { project, category, until } of this.#deps.limits.shared()) {
      const limit = { project: project.key, category, until }
      if (!this.#isWorthSharing(limit)) continue
      this.#shared.set(nameOf(limit), until)
      published.push(limit)
    }
    if (published.length === 0) return
    await this.#deps.spool.addLimits(published).catch(() => undefined) // the next poll finds them missing
  }

  #isWorthSharing(limit: SharedLimit): boolean {
    const sharedUntil = this.#shared.get(nameOf(limit))
    if (sharedUntil === undefined)
      return this.#shared.size < MAX_LIMITS && limit.project.length <= MAX_KEY_LENGTH
    const leftMs = limit.until - this.#deps.now()
    return limit.until - sharedUntil >= Math.max(MIN_GAIN_MS, MIN_GAIN * leftMs)
  }
}

function nameOf({ project, category }: SharedLimit): string {
  return `${project} ${category}`
}
