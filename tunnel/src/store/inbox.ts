/** Inbox: the kept entries of the spool, for a person to read. */

import type { InboxGroups, InboxPage } from 'contract/inbox'
import type { EndedEntry, Span, Spool, Summaries } from '../pipeline/spool.ts'

export class Inbox {
  readonly #spool: Spool
  readonly #summaries: Summaries

  private constructor(spool: Spool, summaries: Summaries) {
    this.#spool = spool
    this.#summaries = summaries
  }

  /** Returns `undefined` for a spool that keeps nothing for reading. */
  static of(spool: Spool): Inbox | undefined {
    return spool.summaries && new Inbox(spool, spool.summaries)
  }

  list(...args: Parameters<Summaries['list']>): Promise<InboxPage> {
    return this.#summaries.list(...args)
  }

  async groups(...args: Parameters<Summaries['groups']>): Promise<InboxGroups> {
    return { inbox: this.#spool.id, ...(await this.#summaries.groups(...args)) }
  }

  /** Returns the envelope of a receipt. */
  find(id: string): Promise<EndedEntry | undefined> {
    return this.#summaries.find(id)
  }

  /** Returns an envelope, or its `first` bytes. Rejects when it is gone. */
  async read(entry: EndedEntry, first = entry.bytes): Promise<Buffer<ArrayBuffer>> {
    const stored = await this.#spool.entries.read(entry)
    const envelope = Buffer.alloc(Math.min(first, entry.bytes))
    if (Buffer.isBuffer(stored)) stored.copy(envelope)
    else {
      let at = 0
      for await (const chunk of stored.open()) {
        at += chunk.copy(envelope, at)
        if (at === envelope.length) break
      }
    }
    return envelope
  }

  async count(): Promise<number> {
    return (await this.#spool.entries.count({ states: ['kept'] })).entries
  }

  /** Counts the envelopes that arrived in a span of time. */
  countArrived(span: Span): Promise<number> {
    return this.#summaries.countArrived(span)
  }

  /** Returns `false` when the envelope is gone. */
  async delete({ id, key }: EndedEntry): Promise<boolean> {
    return (await this.#spool.entries.purge({ entry: { id, key } })) > 0
  }

  /** Deletes the envelopes that are stored now. Returns their number. */
  async deleteAll(): Promise<number> {
    const filter = { states: ['kept'], to: Date.now() } as const
    let deleted = 0
    for (let batch = 1; batch > 0; deleted += batch) batch = await this.#spool.entries.purge(filter)
    return deleted
  }
}
