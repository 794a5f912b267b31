/** Simulated outage without a DSN: the inbox refuses every envelope for a while, on all replicas that share the spool. */

import type { SimulatedOutageStatus } from 'contract/inbox'
import type { SharedState, SharedValue } from '../pipeline/shared-state.ts'
import type { Span } from '../pipeline/spool.ts'

type OutageState = Pick<SharedState, 'get' | 'put'>

type OutageDeps = {
  state: OutageState
  /** Returns the number of spooled envelopes. */
  pending: () => Promise<number>
  /** Returns the number of envelopes in the inbox that arrived in a span of time. */
  stored: (span: Span) => Promise<number>
  /** Milliseconds since 1970. */
  now: () => number
}

export const MAX_OUTAGE_SECONDS = 3 * 60
/** An end that is further away was written by a wrong clock, and is ignored. */
const MAX_OUTAGE_MS = MAX_OUTAGE_SECONDS * 1000
/** Time after an outage in which none begins: visitors cannot keep one on until the spool is full. */
const PAUSE_MS = 3 * 60_000

const KEY = 'simulated-outage'
const NEVER: Span = { from: 0, until: 0 }

/** Returns the milliseconds until the outage ends; 0 without one. */
export async function readRemainingMs(state: Pick<SharedState, 'get'>, now: number): Promise<number> {
  return remainingMs(parse(await state.get(KEY)), now)
}

export class SimulatedOutage {
  readonly #deps: OutageDeps

  constructor(deps: OutageDeps) {
    this.#deps = deps
  }

  /** Begins an outage, unless one is on. Returns the state, or `undefined` in the pause after an outage. */
  async begin(seconds: number): Promise<SimulatedOutageStatus | undefined> {
    const { state, now } = this.#deps
    const stored = await state.get(KEY)
    const from = now()
    const { until } = parse(stored)
    if (from >= until + PAUSE_MS || until > from + MAX_OUTAGE_MS) {
      const span = { from, until: from + Math.min(seconds * 1000, MAX_OUTAGE_MS) }
      await state.put(KEY, JSON.stringify(span), stored.revision) // or another replica has begun one
    } else if (remainingMs(parse(stored), from) === 0) return undefined
    return this.status()
  }

  async end(): Promise<SimulatedOutageStatus> {
    const { state, now } = this.#deps
    const stored = await state.get(KEY)
    const span = parse(stored)
    if (remainingMs(span, now()) > 0)
      await state.put(KEY, JSON.stringify({ ...span, until: now() }), stored.revision)
    return this.status()
  }

  /** All envelopes that arrive during an outage are spooled, so those in the inbox were delivered. */
  async status(): Promise<SimulatedOutageStatus> {
    const { state, pending, stored, now } = this.#deps
    const span = parse(await state.get(KEY))
    const [waiting, delivered] = await Promise.all([pending(), stored(span)])
    return { remaining_ms: remainingMs(span, now()), pending: waiting, delivered }
  }
}

function parse({ value }: SharedValue): Span {
  return value === undefined ? NEVER : JSON.parse(value)
}

function remainingMs({ until }: Span, now: number): number {
  const left = until - now
  return left > 0 && left <= MAX_OUTAGE_MS ? left : 0
}
