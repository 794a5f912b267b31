/** Upstream without a DSN: stores envelopes in the inbox, and refuses them during a simulated outage. */

import type { MemoryBudget } from '../body/memory-budget.ts'
import type { OutgoingBody } from '../body/outgoing.ts'
import type { SharedState } from '../spool/shared-state.ts'
import type { Dispatched, EnvelopeSender, Transport } from '../upstream/client.ts'
import type { UpstreamRequest } from '../upstream/request.ts'
import type { InboxClient } from './inbox-client.ts'
import { keepEnvelope } from './keep.ts'
import { readRemainingMs } from './simulated-outage.ts'

type InboxUpstreamDeps = {
  inbox: InboxClient
  memory: MemoryBudget
  state: Pick<SharedState, 'get'>
  /** Milliseconds since 1970. */
  now: () => number
}

type Response = { status: number; body: object }

const JSON_HEADERS = { 'content-type': 'application/json' }

export class InboxUpstream implements Transport {
  readonly #deps: InboxUpstreamDeps

  constructor(deps: InboxUpstreamDeps) {
    this.#deps = deps
  }

  dispatch({ outgoing, sender }: Dispatched, request: UpstreamRequest): void {
    const aborting = new AbortController()
    const controller = { abort: (reason: Error) => aborting.abort(reason) }
    request.onRequestStart(controller)
    const response = aborting.signal.aborted
      ? Promise.reject(aborting.signal.reason)
      : this.#respond(outgoing, sender)
    response.then(
      ({ status, body }) => {
        request.onResponseStart(controller, status, JSON_HEADERS)
        request.onResponseData(controller, Buffer.from(JSON.stringify(body)))
        request.onResponseEnd()
      },
      (error) => request.onResponseError(controller, error),
    )
  }

  async destroy(): Promise<void> {}

  async #respond(outgoing: OutgoingBody, { receipt, network }: EnvelopeSender): Promise<Response> {
    const { state, now } = this.#deps
    if ((await readRemainingMs(state, now())) > 0)
      return { status: 503, body: { detail: 'This outage is simulated.' } }
    if (outgoing.encoding !== 'identity')
      return { status: 415, body: { detail: 'The inbox stores envelopes uncompressed.' } }
    if (!receipt) return { status: 200, body: {} } // for Sentry only
    const eventId = await keepEnvelope(this.#deps, outgoing, receipt, network)
    return { status: 200, body: eventId === undefined ? {} : { id: eventId } }
  }
}
