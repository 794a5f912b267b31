/** Envelopes in the inboxes of all replicas. */

import { Readable } from 'node:stream'
import type { InboxEntry, InboxPage } from 'tunnel/contract'
import { READ_BYTES } from '../bounds.ts'
import { parseEnvelope } from '../inbox/envelope.ts'
import type { NamedEntry } from '../inbox/inbox-list.tsx'
import { hasTitle, nameOf, nameOfTypes } from '../inbox/title.ts'
import { type AdminRequests, jsonWithin, readWithin } from './admin-requests.ts'

const PAGE = 50
const MAX_SEARCHED = 200
const NAMED_AT_ONCE = 5
const DELETE_TIMEOUT_MS = 10_000

export type InboxList = { entries: NamedEntry[]; next?: string }

export class InboxData {
  readonly #requests: AdminRequests

  constructor(requests: AdminRequests) {
    this.#requests = requests
  }

  /**
   * Returns a page of the inbox, newest first; `undefined` when no replica has one. `after` is the `next` of the page before. With
   * `type`, only envelopes with such an item; without, all but connectivity probes and client reports, which contain no event.
   */
  async list(after: string | undefined, type: string | undefined): Promise<InboxList | undefined> {
    const pages = await this.#pages(after && new URLSearchParams(after), type)
    if (pages.length === 0) return undefined
    // Replicas of one machine share an inbox; each other machine has its own, with a position of its own.
    const byId = new Map(pages.flatMap(({ page }) => page.entries).map((entry) => [entry.id, entry]))
    const next = new URLSearchParams(
      pages.flatMap(({ origin, page }) => (page.next === undefined ? [] : [[origin, `${page.next}`]])),
    )
    const entries = await Readable.from([...byId.values()].sort((a, b) => b.time - a.time))
      .map((entry: InboxEntry) => this.#name(entry), { concurrency: NAMED_AT_ONCE })
      .toArray()
    return { entries, ...(next.size > 0 && { next: next.toString() }) }
  }

  /** Returns the beginning of an envelope, as much as a page shows, and the size of all of it. */
  async envelope(id: string): Promise<{ start: ReadableStream<Uint8Array>; bytes: number } | undefined> {
    const response = await this.#requests.first(`${pathOf(id)}?first=${READ_BYTES.envelope}`)
    if (!response?.body) return undefined
    return { start: response.body, bytes: Number(response.headers.get('x-envelope-bytes')) }
  }

  /** Returns the ID of the newest envelope with this event ID, among the newest ones. */
  async findEvent(eventId: string): Promise<string | undefined> {
    const pages = await this.#requests.each(
      () => `/inbox?limit=${MAX_SEARCHED}`,
      async (response) => (await jsonWithin(response, READ_BYTES.inboxPage)) as InboxPage,
    )
    const found = pages.flatMap(({ entries }) => entries.filter(({ event_id: id }) => id === eventId))
    return found.sort((a, b) => b.time - a.time)[0]?.id
  }

  async download(id: string): Promise<ReadableStream<Uint8Array> | undefined> {
    return (await this.#requests.first(pathOf(id), 'download'))?.body ?? undefined
  }

  async delete(id: string): Promise<void> {
    await this.#requests.each(
      () => pathOf(id),
      async () => true,
      { method: 'DELETE', signal: AbortSignal.timeout(DELETE_TIMEOUT_MS) },
    )
  }

  async #pages(positions: URLSearchParams | '' | undefined, type: string | undefined) {
    const pathFor = (origin: string) => {
      const position = positions ? positions.get(origin) : undefined
      if (positions && !position) return undefined
      const query = new URLSearchParams({
        limit: `${PAGE}`,
        ...(position && { after: position }),
        ...(type ? { type } : { hidden: 'client_report' }),
      })
      return `/inbox?${query}`
    }
    return this.#requests.each(pathFor, async (response, origin) => ({
      origin,
      page: (await jsonWithin(response, READ_BYTES.inboxPage)) as InboxPage,
    }))
  }

  async #name(entry: InboxEntry): Promise<NamedEntry> {
    const { id, types } = entry
    const start = hasTitle(types) ? await this.#start(id) : undefined
    return { ...entry, name: start ? nameOf(parseEnvelope(start).items, types) : nameOfTypes(types) }
  }

  async #start(id: string): Promise<Buffer | undefined> {
    const response = await this.#requests.first(`${pathOf(id)}?first=${READ_BYTES.name}`)
    return response && readWithin(response, READ_BYTES.name).catch(() => undefined)
  }
}

function pathOf(id: string): string {
  return `/inbox/${encodeURIComponent(id)}`
}
