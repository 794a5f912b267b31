/** Entries of the store, and the operator's actions on them. */

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
  /** ID of the store that the page showed. */
  spool: string
  action: SpoolActionName
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

  /** Returns a page of entries, or the problem with the query; `undefined` when no replica responds, or the store fails. */
  async list(query: URLSearchParams): Promise<StorePage | WrongQuery | undefined> {
    const response = await this.#requests.one(`/store/entries?${query}`)
    if (response?.status === 400 || response?.status === 404)
      return (await response.json().catch(() => undefined)) as WrongQuery | undefined
    return response?.ok ? ((await jsonWithin(response, READ_BYTES.storePage)) as StorePage) : undefined
  }

  /** Counts the entries that a resend would send. */
  async countResend(request: ResendRequest): Promise<ResendStarted | undefined> {
    const body = JSON.stringify({ ...request, dry_run: true })
    const response = await this.#ask('/store/resend', { method: 'POST', body })
    return response && ((await response.json()) as ResendStarted)
  }

  /** Returns the last resend; `undefined` when no replica responds. */
  async resendStatus(): Promise<ResendStatus | undefined> {
    const response = await this.#ask('/store/resend')
    return response && ((await response.json()) as ResendStatus)
  }

  /** Asks all replicas for an event. */
  async findEvent(eventId: string): Promise<EventAnswers> {
    const { replicas, origins } = await this.#requests.snapshot()
    const answers = await this.#requests.each(
      `/store/events/${encodeURIComponent(eventId)}`,
      async (response) => ({
        ...((await jsonWithin(response, READ_BYTES.storePage)) as StoreEvent),
        isElsewhere: !origins.some((origin) => response.url.startsWith(`${origin}/`)),
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
  async findByReceipt(receipt: string, time: number): Promise<string | undefined> {
    const query = { state: 'pending', order: 'oldest', after: `${time - 1}-0`, limit: `${MAX_SEARCHED}` }
    const page = await this.list(new URLSearchParams(query))
    return page && 'entries' in page ? page.entries.find((entry) => entry.receipt === receipt)?.id : undefined
  }

  /** Returns `too large` when the headers exceed what a page can show. */
  async entry(id: string): Promise<SpoolEntryDetails | 'too large' | undefined> {
    const response = await this.#ask(`/spool/${encodeURIComponent(id)}`)
    if (!response) return undefined
    try {
      return (await jsonWithin(response, READ_BYTES.spoolEntry)) as SpoolEntryDetails
    } catch (error) {
      if (error instanceof TooLargeError) return 'too large'
      throw error
    }
  }

  async download(id: string): Promise<ReadableStream<Uint8Array> | undefined> {
    const response = await this.#ask(`/spool/${encodeURIComponent(id)}/envelope`, {}, 'download')
    return response?.body ?? undefined
  }

  /** Sends the action once, to one replica: repeated after a lost response, it would affect newer entries too. */
  async act(action: SpoolAction): Promise<SpoolActionResult> {
    const { origins, spool } = await this.#requests.snapshot()
    const [origin] = origins
    if (origin === undefined) return { did: 'failed' }
    if (spool?.id !== action.spool) return { did: 'other-store' }
    const { path, ...init } = requestFor(action)
    const response = await this.#requests.send(origin + path, init)
    if (!response) return { did: 'unanswered' }
    if (!response.ok) return { did: REFUSED[action.action] ?? 'failed' }
    const done: Partial<SpoolRetried & SpoolPurged & ResendStarted> = await response.json()
    await this.#requests.refresh()
    const count = done.retried ?? done.purged ?? done.entries ?? 0
    return { did: action.action, count, left: done.left ?? 0 }
  }

  /** Returns a successful response. */
  async #ask(path: string, init?: RequestInit, duration?: Duration): Promise<Response | undefined> {
    const response = await this.#requests.one(path, init, duration)
    return response?.ok ? response : undefined
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
