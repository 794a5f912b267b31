/** Sharing of Sentry's rate limits among the replicas of one spool, so that a limit costs one request and not one per replica. */

import type { Projects } from '../../pipeline/projects.ts'
import { changeShared, parseShared, type SharedState } from '../../pipeline/shared-state.ts'
import { MAX_LIMIT_SECONDS } from './rate-limits.ts'
import type { UpstreamLimits } from './upstream-limits.ts'

export type LimitSharingDeps = {
  state: Pick<SharedState, 'get' | 'put' | 'clockOffsetMs'>
  limits: UpstreamLimits
  projects: Projects
  /** Milliseconds since 1970. */
  now: () => number
}

/** Rate limit on one category or on `all`. `until` is in milliseconds since 1970, by the clock of this replica. */
type SharedLimit = { project: string; category: string; until: number }

const KEY = 'rate-limits'
const POLL_MS = 1_000
// Some responses set a minute from now each time. A limit is published again when it lasts longer by a quarter.
const MIN_GAIN = 1 / 4
const MIN_GAIN_MS = 1_000
const MAX_LIMITS = 500
const MAX_KEY_LENGTH = 512
/** Number of limits of all replicas that are kept: those that end last. */
const MAX_SHARED = 1_000

/** When the spool fails, each replica applies the limits that it learned itself, as without sharing. */
export class LimitSharing {
  readonly #deps: LimitSharingDeps
  /** End of each shared limit by name, as of the last poll, and of those that this replica has published since. */
  #shared = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #isPolling = false
  /** One write of this replica at a time: each replaces the whole value. */
  #publishing: Promise<void> = Promise.resolve()

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
    const { state, limits, projects } = this.#deps
    try {
      const shared = this.#parse((await state.get(KEY)).value)
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

  /** Publishes limits that are new or last longer. Never rejects: the next poll finds those missing that were not stored. */
  #publish(): Promise<void> {
    this.#publishing = this.#publishing.then(() => this.#publishNew()).catch(() => undefined)
    return this.#publishing
  }

  async #publishNew(): Promise<void> {
    const published: SharedLimit[] = []
    for (const { project, category, until } of this.#deps.limits.shared()) {
      const limit = { project: project.key, category, until }
      if (!this.#isWorthSharing(limit)) continue
      this.#shared.set(nameOf(limit), until)
      published.push(limit)
    }
    if (published.length > 0) await this.#add(published)
  }

  /** Adds limits to those of the other replicas. Of two limits on a category the later end applies. */
  async #add(limits: readonly SharedLimit[]): Promise<void> {
    const { state } = this.#deps
    await changeShared(state, KEY, (value) => {
      const byEnd = [...this.#parse(value), ...limits].sort((a, b) => a.until - b.until)
      const latest = new Map(byEnd.map((limit) => [nameOf(limit), limit]))
      const kept = [...latest.values()].slice(-MAX_SHARED)
      const offsetMs = state.clockOffsetMs()
      return JSON.stringify(kept.map((limit) => ({ ...limit, until: limit.until + offsetMs })))
    })
  }

  /** Leaves out limits that have ended, or were learned by a wrong clock. */
  #parse(value: string | undefined): SharedLimit[] {
    const { state, now } = this.#deps
    const offsetMs = state.clockOffsetMs()
    const leftMs = ({ until }: SharedLimit) => until - now()
    return (parseShared(value, Array.isArray) ?? [])
      .filter(isSharedLimit)
      .map((limit) => ({ ...limit, until: limit.until - offsetMs }))
      .filter((limit) => leftMs(limit) > 0 && leftMs(limit) <= MAX_LIMIT_SECONDS * 1000)
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

function isSharedLimit(value: unknown): value is SharedLimit {
  const { project, category, until } = Object(value)
  return typeof project === 'string' && typeof category === 'string' && Number.isFinite(until)
}
