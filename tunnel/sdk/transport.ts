/** Transport that keeps envelopes in IndexedDB until the tunnel has accepted them. */

import { type BrowserOptions, makeBrowserOfflineTransport, makeFetchTransport } from '@sentry/browser'
import { type Envelope, envelopeContainsItemType, type Transport } from '@sentry/core'

type MakeTransport = NonNullable<BrowserOptions['transport']>
type OfflineOptions = Parameters<typeof makeOffline>[0]

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

const makeOnline = (options: Parameters<typeof makeFetchTransport>[0]) =>
  makeFetchTransport(options, fetchOrReject)
const makeOffline = makeBrowserOfflineTransport(makeOnline)

/**
 * Stores envelopes in a database per project, since the projects of one origin have different tunnel URLs. The offline transport stores
 * replays before it sends them, and ignores errors of the database: until the database is open, replays are only sent.
 */
export const makeTransport: MakeTransport = (given) => {
  const { dbName, storeName }: OfflineOptions = given
  const options = {
    ...given,
    dbName: dbName ?? `sentry-offline${new URL(given.url, location.href).search}`,
    storeName: storeName ?? 'queue',
  }
  const online = makeOnline(options)
  const offline = makeOffline(options)
  let isOpen = false
  openDatabase(options, () => {
    isOpen = true
  })
  const isReplay = (envelope: Envelope) =>
    envelopeContainsItemType(envelope, ['replay_event', 'replay_recording'])
  const transport: Transport = {
    send: (envelope) => (isReplay(envelope) && !isOpen ? online : offline).send(envelope),
    async flush(timeout) {
      const flushed = await Promise.all([online.flush(timeout), offline.flush(timeout)])
      return flushed.every(Boolean)
    },
  }
  return transport
}

/** Creates the database as the offline transport does. `indexedDB` is absent or throws where storage is blocked. */
function openDatabase({ dbName, storeName }: { dbName: string; storeName: string }, onOpen: () => void) {
  try {
    const request = indexedDB.open(dbName)
    request.onupgradeneeded = () => request.result.createObjectStore(storeName)
    request.onsuccess = () => {
      request.result.close()
      onOpen()
    }
  } catch {}
}
