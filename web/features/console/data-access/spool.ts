/** Spool entries, and the operator's actions on them. Any replica that shares a spool can answer for it. */

import type { SpoolEntryDetails, SpoolPage, SpoolPurged, SpoolRetried } from 'contract/spool'
import { READ_BYTES } from '../bounds.ts'
import type { SpoolActionName, SpoolActionResult } from '../spool/spool-action.tsx'
import { type AdminRequests, type Duration, jsonWithin, TooLargeError } from './admin-requests.ts'

const MAX_SEARCHED = 200 // entries

/** Action on one entry, on those of a project or category, or on all. */
export type SpoolAction = {
  action: SpoolActionName
  spool: string
  id?: string
  project?: string
  category?: string
  all: boolean
}

export class SpoolData {
  readonly #requests: AdminRequests

  constructor(requests: AdminRequests) {
    this.#requests = requests
  }

  /** Returns a page of entries; `undefined` when no replica responds. */
  async list(spool: string, query: URLSearchParams): Promise<SpoolPage | undefined> {
    const response = await this.#ask(spool, `?${query}`)
    return response && ((await response.json()) as SpoolPage)
  }

  /** Finds the entry of a receipt by the time of its arrival, in milliseconds since 1970. */
  async findByReceipt(spool: string, receipt: string, time: number): Promise<string | undefined> {
    const query = { order: 'oldest', after: `${time - 1}-0`, limit: `${MAX_SEARCHED}` }
    const page = await this.list(spool, new URLSearchParams(query))
    return page?.envelopes.find((entry) => entry.receipt === receipt)?.id
  }

  /** Returns `too large` when the headers exceed what a page can show. */
  async entry(spool: string, id: string): Promise<SpoolEntryDetails | 'too large' | undefined> {
    const response = await this.#ask(spool, `/${encodeURIComponent(id)}`)
    if (!response) return undefined
    try {
      return (await jsonWithin(response, READ_BYTES.spoolEntry)) as SpoolEntryDetails
    } catch (error) {
      if (error instanceof TooLargeError) return 'too large'
      throw error
    }
  }

  async download(spool: string, id: string): Promise<ReadableStream<Uint8Array> | undefined> {
    const response = await this.#ask(spool, `/${encodeURIComponent(id)}/envelope`, 'download')
    return response?.body ?? undefined
  }

  /** Sends the action once, to one replica: repeated after a lost response, it would affect newer entries too. */
  async act(action: SpoolAction): Promise<SpoolActionResult> {
    const [origin] = await this.#origins(action.spool)
    if (origin === undefined) return { did: 'failed' }
    const { method, path } = requestFor(action)
    const response = await this.#requests.send(`${origin}/spool${path}`, { method })
    if (!response) return { did: 'unanswered' }
    if (!response.ok) return { did: 'failed' }
    const done: Partial<SpoolRetried & SpoolPurged> = await response.json()
    await this.#requests.refresh()
    return { did: action.action, count: done.retried ?? done.purged ?? 0, left: done.left ?? 0 }
  }

  async #ask(spool: string, path: string, duration?: Duration): Promise<Response | undefined> {
    for (const origin of await this.#origins(spool)) {
      const response = await this.#requests.send(`${origin}/spool${path}`, {}, duration)
      if (response) return response.ok ? response : undefined
    }
    return undefined
  }

  #origins(spool: string): Promise<string[]> {
    return this.#requests.origins(({ status }) => status?.spool?.id === spool)
  }
}

function requestFor({ action, id, project, category, all }: SpoolAction): { method: string; path: string } {
  const isByCategory = action === 'retry' || action === 'purge'
  const query = new URLSearchParams({
    ...(project && { project }),
    ...(category && isByCategory && { category }),
    ...(all && { all: '1' }),
  })
  const entry = id === undefined ? '' : `/${encodeURIComponent(id)}`
  const selection = id === undefined && query.size > 0 ? `?${query}` : ''
  return action === 'purge'
    ? { method: 'DELETE', path: entry + selection }
    : { method: 'POST', path: `${entry}/${action}${selection}` }
}
