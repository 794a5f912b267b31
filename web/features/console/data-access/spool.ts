/** Entries of the spools, and the operator's actions on them. Any replica that shares a spool can answer for it. */

import type { SpoolPurged, SpoolRetried } from 'contract/spool'
import type {
  ResendRequest,
  ResendStarted,
  ResendStatus,
  SpoolEntryDetails,
  StoreEvent,
  StorePage,
} from 'contract/store'
import { READ_BYTES } from '../bounds.ts'
import type { EventAnswers } from '../find/findings.ts'
import type { SpoolActionName, SpoolActionResult } from '../spool/spool-action.tsx'
import type { WrongQuery } from '../spool/spool-query.ts'
import { type AdminRequests, type Duration, jsonWithin, TooLargeError } from './admin-requests.ts'

const MAX_SEARCHED = 200 // entries

/** Action on one entry, on those of a project, category or state, or on all. */
export type SpoolAction = {
  action: SpoolActionName
  spool: string
  id?: string
  project?: string
  category?: string
  all: boolean
  /** Entries to send again. */
  resend?: ResendRequest
}

export class SpoolData {
  readonly #requests: AdminRequests

  constructor(requests: AdminRequests) {
    this.#requests = requests
  }

  /** Returns a page of entries, or what is wrong with the query; `undefined` when no replica responds, or the store fails. */
  async list(spool: string, query: URLSearchParams): Promise<StorePage | WrongQuery | undefined> {
    const response = await this.#respond(spool, `/store/entries?${query}`)
    if (response?.status === 400 || response?.status === 404) return (await response.json()) as WrongQuery
    return response?.ok ? ((await jsonWithin(response, READ_BYTES.storePage)) as StorePage) : undefined
  }

  /** Counts the entries that a resend would send. */
  async countResend(spool: string, request: ResendRequest): Promise<ResendStarted | undefined> {
    const body = JSON.stringify({ ...request, dry_run: true })
    const response = await this.#ask(spool, '/store/resend', { method: 'POST', body })
    return response && ((await response.json()) as ResendStarted)
  }

  /** Returns the last resend of a store; `undefined` when no replica responds. */
  async resendStatus(spool: string): Promise<ResendStatus | undefined> {
    const response = await this.#ask(spool, '/store/resend')
    return response && ((await response.json()) as ResendStatus)
  }

  /** Asks all replicas for an event. */
  async findEvent(eventId: string): Promise<EventAnswers> {
    const { replicas } = await this.#requests.snapshot()
    const spools = new Map(replicas.map(({ origin, status }) => [origin, status?.spool?.id]))
    const answers = await this.#requests.each(
      () => `/store/events/${encodeURIComponent(eventId)}`,
      async (response, origin) => ({
        ...((await jsonWithin(response, READ_BYTES.storePage)) as StoreEvent),
        spool: spools.get(origin),
      }),
      { signal: AbortSignal.timeout(EVENT_TIMEOUT_MS) },
    )
    const stopped = replicas.filter(({ state }) => state === 'stopped')
    return {
      events: answers.results,
      silent: answers.replicas - answers.results.length,
      stoppedAt: Math.max(0, ...stopped.map(({ lastResponse = 0 }) => lastResponse)),
    }
  }

  /** Finds the entry of a receipt by the time of its arrival, in milliseconds since 1970. */
  async findByReceipt(spool: string, receipt: string, time: number): Promise<string | undefined> {
    const query = { state: 'pending', order: 'oldest', after: `${time - 1}-0`, limit: `${MAX_SEARCHED}` }
    const page = await this.list(spool, new URLSearchParams(query))
    return page && 'entries' in page ? page.entries.find((entry) => entry.receipt === receipt)?.id : undefined
  }

  /** Returns `too large` when the headers exceed what a page can show. */
  async entry(spool: string, id: string): Promise<SpoolEntryDetails | 'too large' | undefined> {
    const response = await this.#ask(spool, `/spool/${encodeURIComponent(id)}`)
    if (!response) return undefined
    try {
      return (await jsonWithin(response, READ_BYTES.spoolEntry)) as SpoolEntryDetails
    } catch (error) {
      if (error instanceof TooLargeError) return 'too large'
      throw error
    }
  }

  async download(spool: string, id: string): Promise<ReadableStream<Uint8Array> | undefined> {
    const response = await this.#ask(spool, `/spool/${encodeURIComponent(id)}/envelope`, {}, 'download')
    return response?.body ?? undefined
  }

  /** Sends the action once, to one replica: repeated after a lost response, it would affect newer entries too. */
  async act(action: SpoolAction): Promise<SpoolActionResult> {
    const [origin] = await this.#origins(action.spool)
    if (origin === undefined) return { did: 'failed' }
    const { path, ...init } = requestFor(action)
    const response = await this.#requests.send(origin + path, init)
    if (!response) return { did: 'unanswered' }
    if (!response.ok) return { did: REFUSED[action.action] ?? 'failed' }
    const done: Partial<SpoolRetried & SpoolPurged & ResendStarted> = await response.json()
    await this.#requests.refresh()
    const count = done.retried ?? done.purged ?? done.entries ?? 0
    return { did: action.action, count, left: done.left ?? 0 }
  }

  async #ask(
    spool: string,
    path: string,
    init: RequestInit = {},
    duration?: Duration,
  ): Promise<Response | undefined> {
    const response = await this.#respond(spool, path, init, duration)
    return response?.ok ? response : undefined
  }

  /** Returns the first response, also that of a failure. */
  async #respond(
    spool: string,
    path: string,
    init: RequestInit = {},
    duration?: Duration,
  ): Promise<Response | undefined> {
    for (const origin of await this.#origins(spool)) {
      const response = await this.#requests.send(origin + path, init, duration)
      if (response) return response
    }
    return undefined
  }

  #origins(spool: string): Promise<string[]> {
    return this.#requests.origins(({ status }) => status?.spool?.id === spool)
  }
}

const EVENT_TIMEOUT_MS = 10_000

const REFUSED: { [action in SpoolActionName]?: 'not-resent' | 'not-stopped' } = {
  ...{ resend: 'not-resent', stop: 'not-stopped' },
}

function requestFor(action: SpoolAction): { method: string; path: string; body?: string } {
  const { action: name, id, project, category, all, resend } = action
  if (name === 'resend') return { method: 'POST', path: '/store/resend', body: JSON.stringify(resend ?? {}) }
  if (name === 'stop') return { method: 'DELETE', path: '/store/resend' }
  const isByCategory = name === 'retry' || name === 'purge'
  const query = new URLSearchParams({
    ...(project && { project }),
    ...(category && isByCategory && { category }),
    ...(all && { all: '1' }),
  })
  const entry = id === undefined ? '/spool' : `/spool/${encodeURIComponent(id)}`
  const selection = id === undefined && query.size > 0 ? `?${query}` : ''
  return name === 'purge'
    ? { method: 'DELETE', path: entry + selection }
    : { method: 'POST', path: `${entry}/${name}${selection}` }
}
