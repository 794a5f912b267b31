/** Inbox in a thread of its own, so that the thread of the requests never waits for its file. */

import type { InboxGroups, InboxPage } from 'contract/inbox'
import { type FileCaller, WorkerClient } from '../spool/sqlite/threads/worker-client.ts'
import type { NewEntry, PageQuery } from './inbox.ts'
import type { InboxCalls, OpenedInbox } from './inbox-calls.ts'
import type { Span } from './simulated-outage.ts'

export type InboxCaller = FileCaller<InboxCalls, OpenedInbox>

/** Opens the file. `now` is in milliseconds since 1970; a thread of its own has the system's clock. */
export type OpenInboxFile = (file: string, now: () => number) => InboxCaller

const openInWorker: OpenInboxFile = (file) =>
  new WorkerClient<InboxCalls, OpenedInbox>(new URL('./inbox-worker.ts', import.meta.url), file)

export class InboxClient {
  /** Equal for all replicas that share the file. */
  readonly id: string
  readonly #caller: InboxCaller

  private constructor(id: string, caller: InboxCaller) {
    this.id = id
    this.#caller = caller
  }

  /** Opens the file, or creates it. Rejects when that fails. */
  static async open(file: string, now: () => number, openFile = openInWorker): Promise<InboxClient> {
    const caller = openFile(file, now)
    const { id } = await caller.opened
    return new InboxClient(id, caller)
  }

  /** Stores an envelope, whose bytes are transferred. See `Inbox.keep`. */
  keep({ envelope, ...entry }: NewEntry, network: string): Promise<void> {
    return this.#caller.call('keep', entry, network, envelope)
  }

  list(limit: number, query: PageQuery = {}): Promise<InboxPage> {
    return this.#caller.call('list', limit, query)
  }

  groups(limit: number, query: PageQuery = {}): Promise<InboxGroups> {
    return this.#caller.call('groups', limit, query)
  }

  /** Returns an envelope, or its `first` bytes. */
  async read(id: string, first?: number): Promise<Buffer<ArrayBuffer> | undefined> {
    const bytes = await this.#caller.call('read', id, first)
    return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  size(id: string): Promise<number | undefined> {
    return this.#caller.call('size', id)
  }

  /** Counts the envelopes, or those that arrived in a span of time. */
  count(span?: Span): Promise<number> {
    return this.#caller.call('count', span)
  }

  delete(id: string): Promise<boolean> {
    return this.#caller.call('delete', id)
  }

  deleteAll(): Promise<number> {
    return this.#caller.call('deleteAll')
  }

  summariseOld(): Promise<void> {
    return this.#caller.call('summariseOld')
  }

  close(): Promise<void> {
    return this.#caller.close()
  }
}
