/** The inbox as upstream without a DSN, and its simulated outage: it refuses every envelope for a while, on all replicas that share the spool. */

import type { SimulatedOutageStatus } from 'contract/inbox'
import type { Dispatcher } from 'undici'
import { SharedMap, type SharedState } from '../pipeline/shared-state.ts'
import type { Span } from '../pipeline/spool.ts'
import type { UpstreamRequest } from './upstream/request.ts'
import type { Transport } from './upstream/upstream-client.ts'

type OutageDeps = {
  state: Pick<SharedState, 'get' | 'put' | 'clockOffsetMs'>
  /** Returns the number of spooled envelopes. */
  pending: () => Promise<number>
  /** Returns the number of envelopes in the inbox that arrived in a span of time. */
  stored: (span: Span) => Promise<number>
  /** Milliseconds since 1970. */
  now: () => number
}

export const MAX_OUTAGE_SECONDS = 3 * 60
/** Pause after an outage, so that visitors cannot repeat it until the spool is full. */
const PAUSE_MS = 3 * 60_000
/** Time for which the numbers of an outage can be read. */
const KEPT_MS = 60 * 60_000
const CLOCK_MS = 60_000 // by which the clocks of replicas may differ

const NAME = 'last'
const NEVER: Span = { from: 0, until: 0 }

/** Last outage of all replicas. */
export class SimulatedOutage {
  readonly #deps: OutageDeps
  readonly #map: SharedMap<Span>

  constructor(deps: OutageDeps) {
    const { state, now } = deps
    this.#deps = deps
    this.#map = new SharedMap({
      state,
      now,
      key: 'outage',
      maxMs: KEPT_MS + CLOCK_MS,
      merge: (stored, own) => {
        const isSameOutage = own.value.from === stored.value.from
        return isSameOutage || now() >= stored.value.until + PAUSE_MS ? own : stored
      },
    })
  }

  /** Begins an outage, unless one is on. Returns the state, or `undefined` in the pause after an outage. */
  async begin(seconds: number): Promise<SimulatedOutageStatus | undefined> {
    const from = this.#deps.now()
    const span = await this.#put({ from, until: from + Math.min(seconds, MAX_OUTAGE_SECONDS) * 1000 })
    return this.#remainingMs(span) === 0 ? undefined : this.status()
  }

  async end(): Promise<SimulatedOutageStatus> {
    const span = await this.#read()
    if (this.#remainingMs(span) > 0) await this.#put({ ...span, until: this.#deps.now() })
    return this.status()
  }

  /** All envelopes that arrive during an outage are spooled, so those in the inbox were delivered. */
  async status(): Promise<SimulatedOutageStatus> {
    const { pending, stored } = this.#deps
    const span = await this.#read()
    const [waiting, delivered] = await Promise.all([pending(), stored(span)])
    return { remaining_ms: this.#remainingMs(span), pending: waiting, delivered }
  }

  async isOn(): Promise<boolean> {
    return this.#remainingMs(await this.#read()) > 0
  }

  async #read(): Promise<Span> {
    return (await this.#map.read()).get(NAME)?.value ?? NEVER
  }

  async #put(value: Span): Promise<Span> {
    const entries = await this.#map.merge(new Map([[NAME, { value, until: this.#deps.now() + KEPT_MS }]]))
    return entries.get(NAME)?.value ?? NEVER
  }

  #remainingMs({ until }: Span): number {
    const left = until - this.#deps.now()
    return left > 0 && left <= MAX_OUTAGE_SECONDS * 1000 ? left : 0
  }
}

const JSON_HEADERS = { 'content-type': 'application/json' }

/** Upstream that accepts every envelope, since the spool keeps it, except during an outage. */
export class InboxUpstream implements Transport {
  readonly #isRefusing: () => Promise<boolean>

  /** `isRefusing` returns `true` during a simulated outage. */
  constructor(isRefusing: () => Promise<boolean>) {
    this.#isRefusing = isRefusing
  }

  dispatch(_: Dispatcher.DispatchOptions, request: UpstreamRequest): void {
    const controller = { abort: () => {} }
    request.onRequestStart(controller)
    this.#isRefusing().then(
      (isRefusing) => {
        const [status, body] = isRefusing ? [503, { detail: 'This outage is simulated.' }] : [200, {}]
        request.onResponseStart(controller, status, JSON_HEADERS)
        request.onResponseData(controller, Buffer.from(JSON.stringify(body)))
        request.onResponseEnd()
      },
      (error) => request.onResponseError(controller, error),
    )
  }

  async destroy(): Promise<void> {}
}
