/** Upstream without a DSN: accepts every envelope, since the spool keeps it, except during a simulated outage. */

import type { Dispatcher } from 'undici'
import type { SharedState } from '../pipeline/shared-state.ts'
import { readRemainingMs } from './simulated-outage.ts'
import type { UpstreamRequest } from './upstream/request.ts'
import type { Transport } from './upstream/upstream-client.ts'

const JSON_HEADERS = { 'content-type': 'application/json' }

export class InboxUpstream implements Transport {
  readonly #state: Pick<SharedState, 'get'>
  readonly #now: () => number

  /** `now` is in milliseconds since 1970. */
  constructor(state: Pick<SharedState, 'get'>, now: () => number) {
    this.#state = state
    this.#now = now
  }

  dispatch(_: Dispatcher.DispatchOptions, request: UpstreamRequest): void {
    const controller = { abort: () => {} }
    request.onRequestStart(controller)
    readRemainingMs(this.#state, this.#now()).then(
      (remainingMs) => {
        const [status, body] = remainingMs > 0 ? [503, { detail: 'This outage is simulated.' }] : [200, {}]
        request.onResponseStart(controller, status, JSON_HEADERS)
        request.onResponseData(controller, Buffer.from(JSON.stringify(body)))
        request.onResponseEnd()
      },
      (error) => request.onResponseError(controller, error),
    )
  }

  async destroy(): Promise<void> {}
}
