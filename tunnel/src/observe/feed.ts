/** Live feed: receipts and final outcomes as server-sent events. */

import { setTimeout as wait } from 'node:timers/promises'
import type { Context } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import type { FeedEvent, Receipts } from './receipts.ts'

const HEARTBEAT_MS = 15_000
const GATHER_MS = 100 // one write for several events: a write costs more than its content
const MAX_BATCH = 200
const MAX_READERS = 100

/**
 * Streams the events after `Last-Event-ID` (`replica:number`); without one the `newest` so many, or those from now on. Each write is
 * awaited: a slow reader costs no memory, and gets a `gap` event for what it has missed.
 */
export class Feed {
  readonly #receipts: Receipts
  readonly #replica: string
  #readers = 0

  /** `replica` marks the process: numbers of another one mean nothing here. */
  constructor(receipts: Receipts, replica: string) {
    this.#receipts = receipts
    this.#replica = replica
  }

  stream(c: Context): Response {
    if (c.req.method === 'HEAD') return c.body(null) // Hono calls the handler of GET, but a HEAD request reads no stream
    if (this.#readers >= MAX_READERS)
      return c.json({ detail: `${MAX_READERS} read the feed already. Close some of them.` }, 503)
    const newest = c.req.query('newest') ?? '0'
    if (!/^\d{1,9}$/.test(newest)) return c.json({ detail: 'newest is how many receipts, like 1000.' }, 400)
    const from = this.#readPosition(c.req.header('last-event-id') ?? '') ?? this.#beforeNewest(Number(newest))
    this.#readers++
    return streamSSE(c, (stream) => this.#follow(stream, from).finally(() => this.#readers--))
  }

  async #follow(stream: SSEStreamingApi, from: number): Promise<void> {
    const closed = new AbortController()
    stream.onAbort(() => closed.abort())
    let isIdle = false
    const heartbeat = setInterval(() => isIdle && void stream.write(': still here\n\n'), HEARTBEAT_MS)
    try {
      for (let at = from; !stream.aborted; ) {
        const { first, events } = this.#receipts.after(at, MAX_BATCH)
        const missed = first - at - 1
        const text = (missed > 0 ? this.#formatGap(missed) : '') + this.#format(events, first)
        if (text) await stream.write(text)
        at = first + events.length - 1
        if (this.#receipts.newest() > at) continue
        isIdle = true
        await this.#receipts.next(closed.signal)
        isIdle = false
        await wait(GATHER_MS, undefined, { signal: closed.signal }).catch(() => {})
      }
    } finally {
      clearInterval(heartbeat)
    }
  }

  #format(events: readonly FeedEvent[], first: number): string {
    return events
      .map(({ event, json }, i) => `event: ${event}\ndata: ${json}\nid: ${this.#replica}:${first + i}\n\n`)
      .join('')
  }

  #formatGap(missed: number): string {
    return `event: gap\ndata: ${JSON.stringify({ missed, replica: this.#replica })}\n\n`
  }

  /** Returns `undefined` for a position of another process. The name of a replica may contain a colon. */
  #readPosition(lastId: string): number | undefined {
    const [, replica, number] = /^(.*):(\d{1,15})$/s.exec(lastId) ?? []
    if (replica !== this.#replica) return undefined
    return Math.min(Number(number), this.#receipts.newest())
  }

  /** Returns the position before the newest `count` events that are kept, so that no gap is reported. */
  #beforeNewest(count: number): number {
    return this.#receipts.after(this.#receipts.newest() - count, 0).first - 1
  }
}
