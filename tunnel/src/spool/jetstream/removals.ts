/** Removal of entries: the replica that deletes a message reports the final outcome of its entry. */

import { setTimeout as wait } from 'node:timers/promises'
import type { SpoolEntry } from '../spool.ts'
import { type Entry, encodeId, toSpoolEntry } from './codec.ts'
import type { Consumers } from './consumers.ts'
import type { Messages, Walked } from './messages.ts'
import type { Partitions } from './partitions.ts'

const AT_A_TIME = 250
const PAUSE_MS = 1_000
const REMOVAL_MS = 30_000 // an operator waits for a purge

export class Removals {
  readonly #messages: Messages
  readonly #consumers: Consumers
  readonly #partitions: Partitions
  readonly #closing: AbortSignal

  constructor(messages: Messages, consumers: Consumers, partitions: Partitions, closing: AbortSignal) {
    this.#messages = messages
    this.#consumers = consumers
    this.#partitions = partitions
    this.#closing = closing
  }

  /** Returns `false` when another replica ended it. The object of an entry goes after its message. */
  async remove(id: number, entry: SpoolEntry): Promise<boolean> {
    const isOurs = await this.#messages.remove(id)
    this.#consumers.forget(id)
    if (!isOurs) return false
    this.#partitions.remove(entry)
    if (entry.file !== undefined) this.#messages.removeObject(entry, entry.file)
    return true
  }

  /** As `insistOnRemoval`, for half a minute. */
  removeSoon(id: number, entry: SpoolEntry): Promise<boolean> {
    return this.insistOnRemoval(id, entry, this.#timeLimit())
  }

  /** As `remove`, but tries until the server has answered, or until the signal. */
  async insistOnRemoval(id: number, entry: SpoolEntry, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      try {
        return await this.remove(id, entry)
      } catch (error) {
        await wait(PAUSE_MS, undefined, { signal }).catch(() => {
          throw error
        })
      }
    }
  }

  /** Removes the first entries of a class, as far as `isMeant` says so, and returns those that nobody else removed. */
  async removeWithin(
    priority: number,
    subjects: string[],
    limit: number,
    isMeant: (entry: Entry) => boolean = () => true,
  ): Promise<SpoolEntry[]> {
    const found: Walked[] = []
    for await (const walked of this.#messages.walk(priority, { subjects })) {
      if (!isMeant(walked.entry) || found.length === limit) break
      found.push(walked)
    }
    const ours: SpoolEntry[] = []
    const signal = this.#timeLimit()
    for (let start = 0; start < found.length; start += AT_A_TIME) {
      const some = found.slice(start, start + AT_A_TIME)
      const remove = ({ entry, seq }: Walked) => this.insistOnRemoval(encodeId(priority, seq), entry, signal)
      const removed = await Promise.all(some.map((each) => remove(each).catch((error: Error) => error)))
      ours.push(...some.filter((_, i) => removed[i] === true).map(({ entry }) => toSpoolEntry(entry)))
      const failed = removed.find((each) => each instanceof Error)
      if (failed && ours.length === 0) throw failed
      if (failed) break // what was removed has to be told
    }
    return ours
  }

  #timeLimit(): AbortSignal {
    return AbortSignal.any([this.#closing, AbortSignal.timeout(REMOVAL_MS)])
  }
}
