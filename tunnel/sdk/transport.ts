/** Transport that keeps envelopes in IndexedDB until the tunnel has accepted them. */

import { makeBrowserOfflineTransport, makeFetchTransport } from '@sentry/browser'

/** Responses of nginx and the tunnel when neither Sentry nor the spool has the envelope. */
const NOT_ACCEPTED = [502, 503, 504]

// The original function: posts of the SDK must not leave breadcrumbs and spans.
const send = globalThis.fetch

/** Rejects for responses after which the envelope has to be sent again: the offline transport stores it then. */
async function fetchOrReject(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await send.call(globalThis, url, init)
  if (NOT_ACCEPTED.includes(response.status)) throw new Error(`The tunnel responded with ${response.status}.`)
  return response
}

export const makeTransport = makeBrowserOfflineTransport(
  (options: Parameters<typeof makeFetchTransport>[0]) => makeFetchTransport(options, fetchOrReject),
)
