/** What we drop ourselves, told to Sentry in one small client report per project and interval, so that its Stats page explains it. */

import { formatDsn } from '../envelope/dsn.ts'
import { type Item, quantitiesOf } from '../envelope/items.ts'
import type { Project } from '../projects.ts'

/** The lists of a client report's payload (PROTOCOL §7); the first two are a relay's to write. */
export type DropKind = 'rate_limited_events' | 'filtered_events' | 'discarded_events'

export type ClientReports = {
  /** Notes items of a project as dropped for a reason in Sentry's words. */
  note(project: Project, kind: DropKind, reason: string, items: Iterable<Item>): void
  /** Notes one envelope that was lost, by its most important category. */
  noteLost(project: Project, reason: string, category: string): void
  /** Sends what has been noted; what cannot be sent stays noted. */
  flush(): Promise<void>
}

/** Posts an envelope of ours; `false` when Sentry did not take it. */
export type PostReport = (project: Project, envelope: Buffer) => Promise<boolean>

type Entry = { kind: DropKind; reason: string; category: string; quantity: number }

/** Bounded by projects times reasons times categories, all of them closed sets. */
export function createClientReports(post: PostReport, now: () => number): ClientReports {
  const noted = new Map<Project, Map<string, Entry>>()
  return { note, noteLost, flush }

  function note(project: Project, kind: DropKind, reason: string, items: Iterable<Item>): void {
    for (const { category, quantity } of [...items].flatMap(quantitiesOf))
      add(project, { kind, reason, category, quantity })
  }

  function noteLost(project: Project, reason: string, category: string): void {
    if (category !== '') add(project, { kind: 'discarded_events', reason, category, quantity: 1 })
  }

  function add(project: Project, entry: Entry): void {
    const entries = noted.get(project) ?? new Map<string, Entry>()
    noted.set(project, entries)
    const key = `${entry.kind} ${entry.reason} ${entry.category}`
    const quantity = entry.quantity + (entries.get(key)?.quantity ?? 0)
    entries.set(key, { ...entry, quantity })
  }

  async function flush(): Promise<void> {
    const reports = [...noted]
    noted.clear()
    await Promise.all(
      reports.map(async ([project, entries]) => {
        if (await post(project, writeReport(project, [...entries.values()], now()))) return
        for (const entry of entries.values()) add(project, entry)
      }),
    )
  }
}

function writeReport({ dsn }: Project, entries: readonly Entry[], now: number): Buffer {
  const lists = Map.groupBy(entries, ({ kind }) => kind)
  const payload = Object.fromEntries(
    [...lists].map(([kind, list]) => [
      kind,
      list.map(({ reason, category, quantity }) => ({ reason, category, quantity })),
    ]),
  )
  return Buffer.from(
    `${JSON.stringify({ dsn: formatDsn(dsn) })}\n{"type":"client_report"}\n${JSON.stringify({ timestamp: now / 1000, ...payload })}\n`,
  )
}
