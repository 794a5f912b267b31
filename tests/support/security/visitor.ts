/** Valid visitor, who posts errors during an attack. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { Agent, request } from 'undici'
import { errorOf } from '../envelopes.ts'

export type VisitorOptions = {
  headers?: Record<string, string>
  /** Time between two errors, in ms. */
  pauseMs: number
  /** Sends the next error without waiting for a response. */
  isSteady?: boolean
  /** Interval in errors after which one more is sent, compressed by gzip. */
  gzipEvery?: number
}

export type Visit = {
  eventIds: string[]
  sentBytes: number
  /** Responses that were not 200 or for spooled errors, and broken connections. */
  failures: string[]
  slowestMs: number
}

export type Visitor = ReturnType<typeof startVisitor>

/** Posts errors to `url`, on connections of its own, until it is stopped. */
export function startVisitor(
  url: string,
  dsn: string,
  { headers = {}, pauseMs, isSteady = false, gzipEvery = 0 }: VisitorOptions,
) {
  const visit: Visit = { eventIds: [], sentBytes: 0, failures: [], slowestMs: 0 }
  const dispatcher = new Agent()
  const end = new AbortController()
  const posting = postAll()

  async function postAll(): Promise<void> {
    const open: Promise<void>[] = []
    for (let n = 1; !end.signal.aborted; n++) {
      open.push(report(false))
      if (gzipEvery > 0 && n % gzipEvery === 0) open.push(report(true))
      if (!isSteady) await Promise.all(open.splice(0))
      await sleep(pauseMs, undefined, { signal: end.signal }).catch(() => {})
    }
    await Promise.all(open)
  }

  async function report(isCompressed: boolean): Promise<void> {
    const eventId = randomUUID().replaceAll('-', '')
    const plain = errorOf(dsn, { event_id: eventId })
    const body = isCompressed ? gzipSync(plain) : plain
    const encoding = isCompressed ? { 'content-encoding': 'gzip' } : {}
    visit.eventIds.push(eventId)
    visit.sentBytes += body.length
    const started = performance.now()
    const failure = await request(`${url}/monitoring`, {
      dispatcher,
      method: 'POST',
      headers: { ...encoding, ...headers },
      body,
    }).then(
      async (response) => {
        const answer = await response.body.text()
        if (response.headers['x-culvert-outcome'] !== undefined) return 'spooled'
        return response.statusCode === 200 ? undefined : `${response.statusCode} ${codeIn(answer)}`
      },
      (error) => String(error),
    )
    visit.slowestMs = Math.max(visit.slowestMs, performance.now() - started)
    if (failure !== undefined) visit.failures.push(failure)
  }

  return {
    async end(): Promise<Visit> {
      end.abort()
      await posting
      await dispatcher.close()
      return visit
    },
  }
}

/** Returns the code of the rejection, or the beginning of another body. */
function codeIn(answer: string): string {
  return /"code":"([a-z-]+)"/.exec(answer)?.[1] ?? answer.slice(0, 100)
}
