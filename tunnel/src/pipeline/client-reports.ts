/** Client reports: tell Sentry which items the tunnel dropped, in one envelope per project and interval. */

import { formatDsn } from 'contract/dsn'
import { type Item, quantitiesOf } from '../envelope/items.ts'
import type { Project } from './projects.ts'

/** Lists in a client report (develop.sentry.dev/sdk/telemetry/client-reports). */
type DropKind = 'rate_limited_events' | 'filtered_events' | 'discarded_events'

/** Posts an envelope of our own; `false` when Sentry did not receive it. */
export type PostReport = (project: Project, envelope: Buffer) => Promise<boolean>

type Entry = { kind: DropKind; reason: string; category: string; quantity: number }

/** Bounded by projects times reasons times categories, which are all closed sets. */
export class ClientReports {
  readonly #post: PostReport
  readonly #now: () => number
  readonly #pending = new Map<Project, Map<string, Entry>>()

  constructor(post: PostReport, now: () => number) {
    this.#post = post
    this.#now = now
  }

  /** Records dropped items. `reason` is one of Sentry's. */
  note(project: Project, kind: DropKind, reason: string, items: Iterable<Item>): void {
    for (const { category, quantity } of [...items].flatMap(quantitiesOf))
      this.#add(project, { kind, reason, category, quantity })
  }

  /** Records a lost envelope by its most important category. */
  noteLost(project: Project, reason: string, category: string): void {
    if (category !== '') this.#add(project, { kind: 'discarded_events', reason, category, quantity: 1 })
  }

  /** Sends the recorded losses. Entries that cannot be sent are kept. */
  async flush(): Promise<void> {
    const reports = [...this.#pending]
    this.#pending.clear()
    await Promise.all(
      reports.map(async ([project, entries]) => {
        if (await this.#post(project, writeReport(project, [...entries.values()], this.#now()))) return
        for (const entry of entries.values()) this.#add(project, entry)
      }),
    )
  }

  #add(project: Project, entry: Entry): void {
    const entries = this.#pending.get(project) ?? new Map<string, Entry>()
    this.#pending.set(project, entries)
    const key = `${entry.kind} ${entry.reason} ${entry.category}`
    const quantity = entry.quantity + (entries.get(key)?.quantity ?? 0)
    entries.set(key, { ...entry, quantity })
  }
}

/** Writes a report without entries, to which a server responds as to any other envelope. */
export function emptyReport(project: Project, now: number): Buffer {
  return writeReport(project, [], now)
}

function writeReport({ dsn }: Project, entries: readonly Entry[], now: number): Buffer {
  const report: Record<string, unknown> = { timestamp: now / 1000 }
  for (const [kind, list] of Map.groupBy(entries, (entry) => entry.kind))
    report[kind] = list.map(({ reason, category, quantity }) => ({ reason, category, quantity }))
  return Buffer.from(
    `${JSON.stringify({ dsn: formatDsn(dsn) })}\n{"type":"client_report"}\n${JSON.stringify(report)}\n`,
  )
}
