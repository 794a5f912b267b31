/** The messages of the stream: published, found by number or subject, and deleted, even while a server restarts. */

import { setTimeout as wait } from 'node:timers/promises'
import type {
  JetStreamClient,
  JetStreamManager,
  NextMsgRequest,
  PubAck,
  SeqMsgRequest,
  StoredMsg,
} from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import { decodeEntry, type Entry, STREAM, type Turn, turnOf, uploadOf } from './codec.ts'
import { ANSWER_MS } from './connection.ts'
import { codeOf } from './stream.ts'

/** An envelope with the message that holds it. */
export type Stored = { entry: Entry; seq: number; turn: Turn; upload: string | undefined }

export type Messages = {
  /** With a name, what was stored already is not stored twice when an answer was lost. */
  publish(subject: string, body: Buffer, headers?: MsgHdrs, msgID?: string): Promise<PubAck>
  /** What was published under a name in the last ten minutes; it may be gone since. Nothing is stored. */
  published(subject: string, msgID: string): Promise<number | undefined>
  get(seq: number): Promise<StoredMsg | null>
  find(seq: number): Promise<Stored | undefined>
  /** Those whose subjects match, one by one, the oldest first, from a number on. */
  walk(subject: string, from?: number): AsyncGenerator<Stored>
  /** The last `many` whose subjects match before a number, the newest first. */
  lastOf(subject: string, before: number, many: number): Promise<Stored[]>
  /** `false` when it was gone before. */
  remove(seq: number): Promise<boolean>
}

export const FULL = 10077
const GONE = 10057
const OTHER_LAST_ID = 10070
const OTHER_LAST_NUMBER = 10071
const NOBODYS_ID = 'nobody has this id'
const NO_NUMBER = Number.MAX_SAFE_INTEGER
const TRY_MS = 2_000
const PAUSE_MS = 100
const WINDOW = 64 // numbers looked back at first
const MOST_IN_WINDOW = 1_000

export function openMessages(js: JetStreamClient, jsm: JetStreamManager): Messages {
  return { publish, published, get, find, walk, lastOf, remove }

  function publish(subject: string, body: Buffer, headers?: MsgHdrs, msgID?: string): Promise<PubAck> {
    return insist(
      (timeout) =>
        js.publish(subject, body, {
          timeout,
          ...(headers && { headers }),
          ...(msgID !== undefined && { msgID }),
        }),
      FULL,
    )
  }

  /**
   * Publishes under an expectation that never holds, and that the server checks after the name. In a stream with copies only the number is
   * checked before the servers agree on the message: another last name is found when each of them stores it, and NATS 2.15 then
   * stops the stream on all of them.
   */
  async function published(subject: string, msgID: string): Promise<number | undefined> {
    const { config } = await insist(() => jsm.streams.info(STREAM))
    const expect = config.num_replicas > 1 ? { lastSequence: NO_NUMBER } : { lastMsgID: NOBODYS_ID }
    const rejections = [OTHER_LAST_ID, OTHER_LAST_NUMBER, FULL]
    try {
      const ask = (timeout: number) => js.publish(subject, '', { msgID, expect, timeout })
      return (await insist(ask, ...rejections)).seq
    } catch (error) {
      if (rejections.includes(codeOf(error) ?? 0)) return undefined
      throw error
    }
  }

  function get(seq: number): Promise<StoredMsg | null> {
    return insist(() => jsm.streams.getMessage(STREAM, { seq }))
  }

  async function find(seq: number): Promise<Stored | undefined> {
    return storedIn(await get(seq))
  }

  async function* walk(subject: string, from = 1): AsyncGenerator<Stored> {
    for (let seq = from; ; seq++) {
      const query: SeqMsgRequest & NextMsgRequest = { seq, next_by_subj: subject }
      const next = storedIn(await insist(() => jsm.streams.getMessage(STREAM, query)))
      if (!next) return
      yield next
      seq = next.seq
    }
  }

  /**
   * The server walks forwards only: windows of numbers, one before the other, are walked through, larger ones where there is little, and a
   * smaller one where one turns out to hold too much.
   */
  async function lastOf(subject: string, before: number, many: number): Promise<Stored[]> {
    const { state } = await insist(() => jsm.streams.info(STREAM))
    let end = Math.min(before, state.last_seq + 1)
    const found: Stored[] = []
    for (let size = WINDOW; end > state.first_seq && found.length < many; ) {
      const start = Math.max(state.first_seq, end - size)
      const window = await walkWindow(subject, start, end)
      if (!window) {
        size = Math.max(1, Math.floor(size / 8))
        continue
      }
      found.push(...window.reverse())
      end = start
      if (window.length < WINDOW) size *= 4
    }
    return found.slice(0, many)
  }

  /** `undefined` when there are too many to walk through. */
  async function walkWindow(subject: string, start: number, end: number): Promise<Stored[] | undefined> {
    const window: Stored[] = []
    for await (const stored of walk(subject, start)) {
      if (stored.seq >= end) break
      if (window.length === MOST_IN_WINDOW) return undefined
      window.push(stored)
    }
    return window
  }

  /** When it is gone at a second try, the first one did it, and its answer was lost. */
  async function remove(seq: number): Promise<boolean> {
    let tries = 0
    try {
      return await insist(() => {
        tries++
        return jsm.streams.deleteMessage(STREAM, seq, false)
      }, GONE)
    } catch (error) {
      if (codeOf(error) === GONE) return tries > 1
      throw error
    }
  }
}

/** Tries for 5 s, in which the server may restart or its leader move; an error with a code of `final` is one at once. */
export async function insist<T>(ask: (timeoutMs: number) => Promise<T>, ...final: number[]): Promise<T> {
  const end = performance.now() + ANSWER_MS
  for (;;) {
    const rest = end - performance.now()
    try {
      return await ask(Math.max(1, Math.min(TRY_MS, rest)))
    } catch (error) {
      if (final.includes(codeOf(error) ?? 0) || rest <= PAUSE_MS) throw error
      await wait(PAUSE_MS)
    }
  }
}

function storedIn(message: StoredMsg | null): Stored | undefined {
  if (!message) return undefined
  const { seq, subject, header } = message
  return { entry: decodeEntry(header), seq, turn: turnOf(subject), upload: uploadOf(subject) }
}
