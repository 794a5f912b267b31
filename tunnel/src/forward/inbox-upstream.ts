/** Upstream without a DSN: accepts every envelope, since the spool keeps it, except during a simulated outage. */

import type { Dispatcher } from 'undici'
import type { UpstreamRequest } from './upstream/request.ts'
import type { Transport } from './upstream/upstream-client.ts'

const JSON_HEADERS = { 'content-type': 'application/json' }

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
