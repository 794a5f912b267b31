/** Sharing of Sentry's rate limits among the replicas of one spool, so that a limit costs one request and not one per replica. */

import { once } from '../../pipeline/once.ts'
import type { Projects } from '../../pipeline/projects.ts'
import { type SharedEntry, SharedMap, type SharedState } from '../../pipeline/shared-state.ts'
import { MAX_LIMIT_SECONDS } from './rate-limits.ts'
import type { UpstreamLimits } from './upstream-limits.ts'

export type LimitSharingDeps = {
  state: Pick<SharedState, 'get' | 'put' | 'clockOffsetMs'>
  limits: UpstreamLimits
  projects: Projects
  /** Milliseconds since 1970. */
  now: () => number
}

/** Project and category of a limit. The category is `all` for a limit on all of them. */
type SharedLimit = { project: string; category: string }

const POLL_MS = 1_000
// Some responses set a minute from now each time. A limit is published again when it lasts longer by a quarter.
const MIN_GAIN = 1 / 4
const MIN_GAIN_MS = 1_000
/** Maximum number of limits that a replica publishes. */
const MAX_LIMITS = 500
const MAX_KEY_LENGTH = 512

/** When the spool fails, each replica applies the limits that it learned itself, as without sharing. */
export class LimitSharing {
  readonly #deps: LimitSharingDeps
  readonly #map: SharedMap<SharedLimit>
  /** Limits of all replicas as of the last exchange. */
  #shared: ReadonlyMap<string, SharedEntry<SharedLimit>> = new Map()
  #timer: NodeJS.Timeout | undefined
  /** Publishes own limits, and adopts those of others. Never rejects: the next one tries again. */
  readonly #exchange = once(() =>
    this.#map
      .merge(this.#unshared())
      .then((shared) => this.#adopt(shared))
      .catch(() => undefined),
  )

  constructor(deps: LimitSharingDeps) {
    this.#deps = deps
    this.#map = new SharedMap({
      state: deps.state,
      now: deps.now,
      key: 'limits',
      merge: (stored, own) => (this.#isLonger(stored, own) ? own : stored),
      maxMs: MAX_LIMIT_SECONDS * 1000,
    })
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

  /** Adopts the limits of others. Publishes limits that the spool has lost. */
  async #poll(): Promise<void> {
    await this.#exchange()
    await this.#publish()
  }

  /** Publishes new limits at once. Those that are learned during an exchange wait for the next one. */
  async #publish(): Promise<void> {
    await this.#exchange.running
    if (this.#unshared().size > 0) await this.#exchange()
  }

  /** Adopts limits that are new. The others are adopted already, or were dropped since the clock was set back. */
  #adopt(shared: ReadonlyMap<string, SharedEntry<SharedLimit>>): void {
    const { limits, projects } = this.#deps
    for (const [name, { value, until }] of shared) {
      if (this.#shared.get(name)?.until === until) continue
      const project = projects.byKey(value.project)
      if (project) limits.adopt({ project, category: value.category, until })
    }
    this.#shared = shared
  }

  /** Returns the limits of this replica that are new, or last longer. */
  #unshared(): Map<string, SharedEntry<SharedLimit>> {
    const unshared = new Map<string, SharedEntry<SharedLimit>>()
    let room = MAX_LIMITS - this.#shared.size
    for (const { project, category, until } of this.#deps.limits.shared()) {
      const name = `${project.key} ${category}`
      const own = { value: { project: project.key, category }, until }
      const known = this.#shared.get(name)
      const isNew = !known && project.key.length <= MAX_KEY_LENGTH && room-- > 0
      if (isNew || (known && this.#isLonger(known, own))) unshared.set(name, own)
    }
    return unshared
  }

  #isLonger(known: SharedEntry<SharedLimit>, { until }: SharedEntry<SharedLimit>): boolean {
    return until - known.until >= Math.max(MIN_GAIN_MS, MIN_GAIN * (until - this.#deps.now()))
  }
}
