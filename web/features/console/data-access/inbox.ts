/** Envelopes in the inbox. */

import type { InboxGroups, InboxPage } from 'contract/inbox'
import { READ_BYTES } from '../bounds.ts'
import { WEEK } from '../figures/range.ts'
import type { EntriesPage, GroupsPage, NoInbox } from '../inbox/inbox-list.tsx'
import { type InboxQuery, readInboxQuery, type Steps, stepsUntil } from '../inbox/inbox-query.ts'
import type { Issue } from '../inbox/issue.tsx'
import { modelReplay, type Replay } from '../inbox/replay/replay.ts'
import type { Query } from '../routes.ts'
import { type AdminRequests, jsonWithin } from './admin-requests.ts'

const PAGE = 50
const ISSUE_ENTRIES = 200
const REPLAY_ENTRIES = 200 // 16 min of segments, which the admin port returns at once

/** Items of envelopes without an event, which are listed only on request. */
const HIDDEN = 'client_report'

export class InboxData {
  readonly #requests: AdminRequests

  constructor(requests: AdminRequests) {
    this.#requests = requests
  }

  /** Returns a page of groups, last updated first. `after` is the `next` of the page before. With `steps`, they are counted over time. */
  async groups(query: InboxQuery, after?: string, steps?: Steps): Promise<GroupsPage | NoInbox> {
    const page = await this.#page<InboxGroups>('/inbox/groups', { query: { ...query, ...steps }, after })
    if (typeof page !== 'object') return { groups: undefined, isOff: page === 'off' }
    const { groups, releases, environments } = page
    return { groups, releases, environments, ...nextOf(page) }
  }

  /** Returns a page of envelopes, newest first; `undefined` when no tunnel responds with one. */
  async entries(query: DataQuery, after?: string, limit = PAGE): Promise<EntriesPage | undefined> {
    const page = await this.#page<InboxPage>('/inbox', { query, after, limit })
    return typeof page === 'object' ? { entries: page.entries, ...nextOf(page) } : undefined
  }

  /** Returns the group of an envelope with its newest ones, and its neighbours in `list`; `undefined` if the envelope is not in it. */
  async issue(id: string, list: Query, now: number): Promise<Issue | undefined> {
    const [entry] = (await this.entries({ id }))?.entries ?? []
    if (!entry) return undefined
    const query = { group: entry.group }
    const steps = stepsUntil(now, WEEK)
    const after = typeof list.after === 'string' ? list.after : undefined
    const [listed, { groups }, newest] = await Promise.all([
      list.group === undefined ? this.groups(readInboxQuery(list), after) : undefined,
      this.groups(query, undefined, steps),
      this.entries(query, undefined, ISSUE_ENTRIES),
    ])
    const group = groups?.[0]
    const others = listed?.groups?.map((each) => each.newest) ?? []
    const at = others.findIndex((each) => each.group === entry.group)
    const neighbours = at < 0 ? {} : { previous: others[at - 1], next: others[at + 1] }
    return (
      group && { entry, group, entries: newest?.entries ?? [], ...neighbours, from: Number(steps.from), now }
    )
  }

  /** Returns the newest segments and errors of a replay. */
  async replay(id: string): Promise<Replay> {
    return modelReplay((await this.entries({ replay: id }, undefined, REPLAY_ENTRIES))?.entries ?? [])
  }

  /** Returns the beginning of an envelope, as much as a page shows, and the size of all of it. */
  async envelope(id: string): Promise<{ start: ReadableStream<Uint8Array>; bytes: number } | undefined> {
    const response = await this.#requests.one(`${pathOf(id)}?first=${READ_BYTES.envelope}`)
    if (!response?.ok || !response.body) return undefined
    return { start: response.body, bytes: Number(response.headers.get('x-envelope-bytes')) }
  }

  /** Returns the ID of the newest envelope with this event ID. */
  async findEvent(eventId: string): Promise<string | undefined> {
    const page = await this.entries({ search: eventId })
    return page?.entries.find((entry) => entry.event_id === eventId)?.id
  }

  async download(id: string): Promise<ReadableStream<Uint8Array> | undefined> {
    const response = await this.#requests.one(pathOf(id), {}, 'download')
    return (response?.ok && response.body) || undefined
  }

  /** Deletes an envelope. `gone`: the inbox does not have it; `not-deleted`: no tunnel has said that it did. */
  async delete(id: string): Promise<'delete' | 'gone' | 'not-deleted'> {
    const response = await this.#requests.one(pathOf(id), { method: 'DELETE' })
    if (response?.status === 404) return 'gone'
    return response?.ok ? 'delete' : 'not-deleted'
  }

  /** Returns `off` when the tunnel has no inbox, and `undefined` when none responds with a page. */
  async #page<T>(path: string, { query, after, limit = PAGE }: PageRequest): Promise<T | 'off' | undefined> {
    const { type = 'all', ...others } = query
    const isOpen =
      type === 'all' && query.id === undefined && query.group === undefined && query.replay === undefined
    const parameters = new URLSearchParams({
      limit: `${limit}`,
      ...others,
      ...(type !== 'all' && { type }),
      ...(after !== undefined && /^\d+$/.test(after) && { after }),
      ...(isOpen && { hidden: HIDDEN }),
    })
    const response = await this.#requests.one(`${path}?${parameters}`)
    if (response?.status === 404) return 'off'
    return response?.ok ? ((await jsonWithin(response, READ_BYTES.inboxPage)) as T) : undefined
  }
}

type DataQuery = InboxQuery & { id?: string }

type PageRequest = { query: DataQuery & Partial<Steps>; after: string | undefined; limit?: number }

function nextOf({ next }: { next?: number }): { next?: string } {
  return next === undefined ? {} : { next: `${next}` }
}

function pathOf(id: string): string {
  return `/inbox/${encodeURIComponent(id)}`
}
