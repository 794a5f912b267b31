/** Sharing of Sentry's rate limits among the replicas of one spool, so that a limit costs one request and not one per replica. */

import type { UpstreamLimit, UpstreamLimits } from '../policy/upstream-limits.ts'
import type { Projects } from '../projects.ts'
import type { SharedLimit, Spool } from './spool.ts'

const POLL_MS = 1_000
// Some responses set a minute from now each time. A limit is published again when it lasts longer by a quarter.
const MIN_GAIN_MS = 1_000
const MIN_GAIN = 1 / 4
const MAX_LIMITS = 500
const MAX_KEY_LENGTH = 512

export type LimitSharingDeps = {
  spool: Pick<Spool, 'limits' | 'addLimits'>
  limits: UpstreamLimits
  projects: Projects
  /** Milliseconds since 1970. */
  now: () => number
}

/** When the spool fails, each replica has the limits that it learned itself, as without sharing. */
export class LimitSharing {
  readonly #spool: LimitSharingDeps['spool']
  readonly #limits: UpstreamLimits
  readonly #projects: Projects
  readonly #now: () => number
  /** Shared limits by name, as of the last poll, and those that this replica has published since. */
  #shared = new Map<string, SharedLimit>()
  #timer: NodeJS.Timeout | undefined
  #isPolling = false

  constructor({ spool, limits, projects, now }: LimitSharingDeps) {
    this.#spool = spool
    this.#limits = limits
    this.#projects = projects
    this.#now = now
  }

  start(): void {
    this.#limits.listen(() => void this.#publish())
    this.#timer = setInterval(() => void this.#poll(), POLL_MS).unref()
    void this.#poll()
  }

  stop(): void {
    this.#limits.listen(() => {})
    clearInterval(this.#timer)
  }

  /** Adopts shared limits. Then publishes those that are missing, since the spool failed or lost them. */
  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    try {
      const shared = await this.#spool.limits()
      this.#shared = new Map(shared.map((limit) => [nameOf(limit), limit]))
      for (const limit of shared) {
        const project = this.#projects.byKey(limit.project)
        if (project) this.#limits.adopt({ ...limit, project })
      }
      await this.#publish()
    } catch {
      // The next poll tries again.
    } finally {
      this.#isPolling = false
    }
  }

  /** Publishes limits that are new or end later. Never rejects. */
  async #publish(): Promise<void> {
    const limits: SharedLimit[] = []
    for (const limit of this.#limits.all().map(toShared)) {
      if (!this.#isWorthSharing(limit)) continue
      this.#shared.set(nameOf(limit), limit)
      limits.push(limit)
    }
    if (limits.length > 0) await this.#spool.addLimits(limits).catch(() => undefined) // the next poll finds them missing
  }

  #isWorthSharing(limit: SharedLimit): boolean {
    const shared = this.#shared.get(nameOf(limit))
    if (shared)
      return limit.until - shared.until >= Math.max(MIN_GAIN_MS, MIN_GAIN * (limit.until - this.#now()))
    return this.#shared.size < MAX_LIMITS && limit.project.length <= MAX_KEY_LENGTH
  }
}

function toShared({ project, category, until }: UpstreamLimit): SharedLimit {
  return { project: project.key, category, until }
}

function nameOf({ project, category }: SharedLimit): string {
  return `${project} ${category}`
}
