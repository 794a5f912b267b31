/** Summaries of the kept entries in the memory of a replica, which reads them from their stream when it is asked. */

import { DatabaseSync } from 'node:sqlite'
import type { NatsConnection } from '@nats-io/transport-node'
import type { InboxGroups, InboxPage } from 'contract/inbox'
import type { EndedEntry, InboxQuery, Span, Summaries } from '../../pipeline/spool.ts'
import { MAX_LISTED, SUMMARIES_TABLE, Summaries as SummaryTable } from '../sqlite/summaries.ts'
import { REMOVED, type StreamEntries, type Summarised } from './stream-entries.ts'

export class SummaryIndex implements Summaries {
  readonly #entries: StreamEntries
  #table: SummaryTable | undefined
  #lastSeq = 0
  #updating: Promise<SummaryTable> | undefined

  constructor(nc: NatsConnection, entries: StreamEntries) {
    this.#entries = entries
    entries.onRemoved = (id) => this.#table?.remove(id)
    nc.subscribe(REMOVED, { callback: (_, message) => this.#table?.remove(Number(message.string())) })
    void this.#watchConnection(nc)
  }

  async list(query: InboxQuery, limit: number, before: number): Promise<InboxPage> {
    return (await this.#update()).listKept(query, limit, before)
  }

  async groups(query: InboxQuery, limit: number, before: number): Promise<Omit<InboxGroups, 'inbox'>> {
    return (await this.#update()).listGroups(query, limit, before)
  }

  async find(receipt: string): Promise<EndedEntry | undefined> {
    const id = (await this.#update()).numberOf(receipt)
    return id === undefined ? undefined : this.#entries.numbered(id)
  }

  async countArrived({ from, until }: Span): Promise<number> {
    return (await this.#update()).countArrived(from, until)
  }

  #update(): Promise<SummaryTable> {
    this.#updating ??= this.#readNew().finally(() => {
      this.#updating = undefined
    })
    return this.#updating
  }

  /** Reads the entries that were kept since the last call, and forgets those that the server has dropped. */
  async #readNew(): Promise<SummaryTable> {
    const table = this.#table ?? (await this.#readAll())
    table.removeBefore(await this.#entries.firstKept())
    for await (const summarised of this.#entries.summarised(this.#lastSeq + 1)) this.#add(table, summarised)
    return table
  }

  async #readAll(): Promise<SummaryTable> {
    const db = new DatabaseSync(':memory:')
    db.exec(SUMMARIES_TABLE)
    const table = new SummaryTable(db)
    let left = MAX_LISTED
    for await (const summarised of this.#entries.summarised()) {
      this.#add(table, summarised)
      if (--left === 0) break
    }
    this.#table = table
    return table
  }

  /** Reads all entries again after a time without the removals of other replicas. */
  async #watchConnection(nc: NatsConnection): Promise<void> {
    for await (const { type } of nc.status()) if (type === 'reconnect') this.#table = undefined
  }

  #add(table: SummaryTable, { entry, summary, seq }: Summarised): void {
    table.add(entry.id, entry, summary)
    this.#lastSeq = Math.max(this.#lastSeq, seq)
  }
}
