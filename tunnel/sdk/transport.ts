/** Transport that keeps envelopes in IndexedDB until the tunnel has accepted them. */

import { type BrowserOptions, makeBrowserOfflineTransport, makeFetchTransport } from '@sentry/browser'
import { type Envelope, envelopeContainsItemType, type Transport } from '@sentry/core'

type MakeTransport = NonNullable<BrowserOptions['transport']>
type OfflineOptions = Parameters<ReturnType<typeof makeBrowserOfflineTransport>>[0]
type Fetch = NonNullable<Parameters<typeof makeFetchTransport>[1]>

/** Responses of nginx and the tunnel when neither Sentry nor the spool has the envelope. */
const NOT_ACCEPTED = [502, 503, 504]
/** Tells the tunnel that the envelope is not lost when it answers with 503. */
const KEEP = 'keep=1'
const MAX_STORED = 30

// The original function: posts of the SDK must not leave breadcrumbs and spans.
const send = globalThis.fetch

/** Rejects for responses after which the envelope has to be sent again: the offline transport stores it then. */
const fetchOrReject: Fetch = async (url, init) => {
  const response = await send.call(globalThis, url, init)
  if (NOT_ACCEPTED.includes(response.status)) throw new Error(`The tunnel responded with ${response.status}.`)
  return response
}

/**
 * Stores envelopes in a database per project, since the projects of one origin have different tunnel URLs. The offline transport ignores
 * errors of the database and drops what exceeds its size, so the tunnel is told which envelopes are kept. Replays, which that transport
 * stores before it sends them, are only sent while the database has no room or is not open.
 */
export const makeTransport: MakeTransport = (given) => {
  const { dbName, storeName = 'queue', maxQueueSize = MAX_STORED }: OfflineOptions = given
  const options = {
    ...given,
    dbName: dbName ?? `sentry-offline${new URL(given.url, location.href).search}`,
    storeName,
    maxQueueSize,
  }
  const database = new StoredCount(options)
  const online = makeFetchTransport(options, fetchOrReject)
  const offline = makeBrowserOfflineTransport((its) =>
    makeFetchTransport(its, async (url, init) => {
      const isKept = await database.hasRoom(pending)
      return fetchOrReject(isKept ? `${url}${String(url).includes('?') ? '&' : '?'}${KEEP}` : url, init)
    }),
  )(options)
  let pending = 0
  const isSentOnly = async (envelope: Envelope) =>
    envelopeContainsItemType(envelope, ['client_report']) ||
    (envelopeContainsItemType(envelope, ['replay_event', 'replay_recording']) &&
      !(await database.hasRoom(pending + 1)))
  const transport: Transport = {
    async send(envelope) {
      if (await isSentOnly(envelope)) return online.send(envelope)
      pending++
      try {
        return await offline.send(envelope)
      } finally {
        void database.refresh().then(() => pending--)
      }
    },
    async flush(timeout) {
      const flushed = await Promise.all([online.flush(timeout), offline.flush(timeout)])
      return flushed.every(Boolean)
    },
  }
  return transport
}

type DatabaseOptions = { dbName: string; storeName: string; maxQueueSize: number }

/** Number of envelopes in the database; infinite while it is not open, and where storage is blocked. */
class StoredCount {
  readonly #options: DatabaseOptions
  #database: IDBDatabase | undefined
  #count = Infinity

  /** Creates the database as the offline transport does. `indexedDB` is absent or throws where storage is blocked. */
  constructor(options: DatabaseOptions) {
    this.#options = options
    try {
      const request = indexedDB.open(options.dbName)
      request.onupgradeneeded = () => request.result.createObjectStore(options.storeName)
      request.onsuccess = () => {
        this.#database = request.result
        void this.refresh()
      }
    } catch {}
  }

  /** Reports whether the database has room for all pending envelopes. Counts only if it seems to have none, since a page may be closing. */
  async hasRoom(pending: number): Promise<boolean> {
    const { maxQueueSize } = this.#options
    if (this.#count + pending > maxQueueSize) await this.refresh()
    return this.#count + pending <= maxQueueSize
  }

  refresh(): Promise<void> {
    return new Promise((resolve) => {
      const end = (count: number) => {
        this.#count = count
        resolve()
      }
      try {
        const { storeName } = this.#options
        const request = this.#database?.transaction(storeName).objectStore(storeName).count()
        if (!request) return end(Infinity)
        request.onsuccess = () => end(request.result)
        request.onerror = () => end(Infinity)
      } catch {
        end(Infinity)
      }
    })
  }
}
