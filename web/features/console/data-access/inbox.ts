/** Envelopes in the inboxes of all replicas. */

import type { InboxGroup, InboxGroups, InboxPage } from 'contract/inbox'
import { READ_BYTES } from '../bounds.ts'
import { WEEK } from '../figures/range.ts'
import type { EntriesPage, GroupsPage, NoInbox } from '../inbox/inbox-list.tsx'
import { type InboxQuery, readInboxQuery, type Steps, stepsUntil } from '../inbox/inbox-query.ts'
import type { Issue } from '../inbox/issue.tsx'
import { modelReplay, type Replay } from '../inbox/replay/replay.ts'
import type { Query } from '../routes.ts'
import { type AdminRequests, jsonWithin, type Responses } from './admin-requests.ts'

const PAGE = 50
const ISSUE_ENTRIES = 200
const REPLAY_ENTRIES = 200 // 16 min of segments, which the admin port returns at once
const DELETE_TIMEOUT_MS = 10_000

/** Items of envelopes without an event, which are listed only on request. */
const HIDDEN = 'client_report'

export class InboxData {
  readonly #requests: AdminRequests

  constructor(requests: AdminRequests) {
    this.#requests = requests
  }

  /**
   * Returns a page of groups, last updated first. `after` is the `next` of the page before.
   * Replicas of one machine share an inbox; each other machine has its own, with a position of its own. The counts of a group in several
   * inboxes are summed up. With `steps`, they are counted over time.
   */
  async groups(query: InboxQuery, after?: string, steps?: Steps): Promise<GroupsPage | NoInbox> {
    const request = { query: { ...query, ...steps }, after }
    const { results: pages, replicas, failed } = await this.#pages<InboxGroups>('/inbox/groups', request)
    if (pages.length === 0) return { groups: undefined, replicas, failed }
    const byInbox = new Map(pages.map(({ page }) => [page.inbox, page]))
    const groups = new Map<string, InboxGroup>()
    for (const group of [...byInbox.values()].flatMap((page) => page.groups)) {
      const known = groups.get(group.newest.group)
      groups.set(group.newest.group, known ? addGroups(known, group) : group)
    }
    const namesOf = (name: 'releases' | 'environments') => [
      ...new Set([...byInbox.values()].flatMap((page) => page[name])),
    ]
    return {
      groups: [...groups.values()].sort((a, b) => b.newest.time - a.newest.time),
      ...nextOf(pages),
      releases: namesOf('releases'),
      environments: namesOf('environments'),
      failed,
    }
  }

  /** Returns a page of envelopes, newest first. */
  async entries(query: DataQuery, after?: string, limit = PAGE): Promise<EntriesPage> {
    const { results: pages, failed } = await this.#pages<InboxPage>('/inbox', { query, after, limit })
    const byId = new Map(pages.flatMap(({ page }) => page.entries).map((entry) => [entry.id, entry]))
    return { entries: [...byId.values()].sort((a, b) => b.time - a.time), ...nextOf(pages), failed }
  }

  /** Returns the group of an envelope with its newest ones, and its neighbours in `list`; `undefined` if no replica lists the envelope. */
  async issue(id: string, list: Query, now: number): Promise<Issue | undefined> {
    const { entries } = await this.entries({ id })
    const [entry] = entries
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
    return group && { entry, group, entries: newest.entries, ...neighbours, from: Number(steps.from), now }
  }

  /** Returns the newest segments and errors of a replay. */
  async replay(id: string): Promise<Replay> {
    const { entries } = await this.entries({ replay: id }, undefined, REPLAY_ENTRIES)
    return modelReplay(entries)
  }

  /** Returns the beginning of an envelope, as much as a page shows, and the size of all of it. */
  async envelope(id: string): Promise<{ start: ReadableStream<Uint8Array>; bytes: number } | undefined> {
    const response = await this.#requests.first(`${pathOf(id)}?first=${READ_BYTES.envelope}`)
    if (!response?.body) return undefined
    return { start: response.body, bytes: Number(response.headers.get('x-envelope-bytes')) }
  }

  /** Returns the ID of the newest envelope with this event ID. */
  async findEvent(eventId: string): Promise<string | undefined> {
    const { entries } = await this.entries({ search: eventId })
    return entries.find((entry) => entry.event_id === eventId)?.id
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

  #pages<T>(path: string, request: PageRequest): Promise<Responses<FromReplica<T>>> {
    const { query, after, limit = PAGE } = request
    const positions = after === undefined ? undefined : new URLSearchParams(after)
    const { type = 'all', ...others } = query
    const isOpen =
      type === 'all' && query.id === undefined && query.group === undefined && query.replay === undefined
    const pathFor = (origin: string) => {
      const position = positions?.get(origin)
      if (positions && !position) return undefined
      const parameters = new URLSearchParams({
        limit: `${limit}`,
        ...others,
        ...(type !== 'all' && { type }),
        ...(position && { after: position }),
        ...(isOpen && { hidden: HIDDEN }),
      })
      return `${path}?${parameters}`
    }
    return this.#requests.each(pathFor, async (response, origin) => ({
      origin,
      page: (await jsonWithin(response, READ_BYTES.inboxPage)) as T,
    }))
  }
}

type DataQuery = InboxQuery & { id?: string }

type PageRequest = { query: DataQuery & Partial<Steps>; after: string | undefined; limit?: number }

type FromReplica<T> = { origin: string; page: T }

/** Returns the position of the next page in the inbox of each replica. */
function nextOf(pages: readonly FromReplica<{ next?: number }>[]): { next?: string } {
  const positions = pages.flatMap(({ origin, page }) =>
    page.next === undefined ? [] : [[origin, `${page.next}`]],
  )
  return positions.length > 0 ? { next: new URLSearchParams(positions).toString() } : {}
}

function addGroups(one: InboxGroup, other: InboxGroup): InboxGroup {
  return {
    envelopes: one.envelopes + other.envelopes,
    users: one.users + other.users,
    first: Math.min(one.first, other.first),
    newest: one.newest.time >= other.newest.time ? one.newest : other.newest,
    ...(one.counts && { counts: one.counts.map((count, index) => addCounts(count, other.counts?.[index])) }),
  }
}

/** `null` if both are unknown. */
function addCounts(one: number | null, other: number | null | undefined): number | null {
  return one === null ? (other ?? null) : one + (other ?? 0)
}

function pathOf(id: string): string {
  return `/inbox/${encodeURIComponent(id)}`
}
