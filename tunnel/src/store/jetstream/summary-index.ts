/** Summaries of the kept entries in the memory of a replica, which reads them from their stream when it is asked. */

import { DatabaseSync } from 'node:sqlite'
import type { NatsConnection } from '@nats-io/transport-node'
import type { InboxGroups, InboxPage } from 'contract/inbox'
import { once } from '../../pipeline/once.ts'
import type { EndedEntry, InboxPageQuery, Span, Steps, Summaries } from '../../pipeline/spool.ts'
import {
  MAX_LISTED,
  missingColumns,
  SUMMARIES_TABLE,
  Summaries as SummaryTable,
} from '../sqlite/summaries.ts'
import type { EndedStream, Found } from './ended-stream.ts'
import { REMOVED, type StreamEntries } from './stream-entries.ts'

export class SummaryIndex implements Summaries {
  readonly #kept: EndedStream
  #table: SummaryTable | undefined
  #lastId = 0
  readonly #update = once(() => this.#readNew())

  constructor(nc: NatsConnection, entries: StreamEntries) {
    this.#kept = entries.kept
    entries.onRemoved = (id) => this.#table?.remove(id)
    nc.subscribe(REMOVED, { callback: (_, message) => this.#table?.remove(Number(message.string())) })
    void this.#watchConnection(nc)
  }

  async list(limit: number, query?: InboxPageQuery): Promise<InboxPage> {
    return (await this.#update()).list(limit, query)
  }

  async groups(limit: number, query?: InboxPageQuery, steps?: Steps): Promise<Omit<InboxGroups, 'inbox'>> {
    return (await this.#update()).groups(limit, query, steps)
  }

  async find(receipt: string): Promise<EndedEntry | undefined> {
    const id = (await this.#update()).numberOf(receipt)
    return id === undefined ? undefined : this.#kept.get({ id })
  }

  async countArrived(span: Span): Promise<number> {
    return (await this.#update()).countArrived(span)
  }

  /** Reads the entries that were kept since the last call, and forgets those that the server has dropped. */
  async #readNew(): Promise<SummaryTable> {
    const table = this.#table ?? (await this.#readAll())
    table.removeBefore(await this.#kept.firstId())
    for await (const found of this.#kept.oldest({}, this.#lastId)) this.#add(table, found)
    return table
  }

  async #readAll(): Promise<SummaryTable> {
    const db = new DatabaseSync(':memory:')
    db.exec(SUMMARIES_TABLE)
    for (const addColumn of missingColumns(db)) db.exec(addColumn)
    const table = new SummaryTable(db)
    let left = MAX_LISTED
    for await (const found of this.#kept.newest({})) {
      this.#add(table, found)
      if (--left === 0) break
    }
    this.#table = table
    return table
  }

  /** Reads all entries again after a time without the removals of other replicas. */
  async #watchConnection(nc: NatsConnection): Promise<void> {
    for await (const { type } of nc.status()) if (type === 'reconnect') this.#table = undefined
  }

  #add(table: SummaryTable, found: Found): void {
    if (found.summary) table.add(found.id, found, found.summary)
    this.#lastId = Math.max(this.#lastId, found.id)
  }
}
