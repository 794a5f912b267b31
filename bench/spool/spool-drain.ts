/** Measures how quickly a real tunnel delivers pending entries while it forwards live envelopes. */

import { setTimeout as sleep } from 'node:timers/promises'
import { startTunnel } from '../../tests/support/tunnel/tunnel.ts'
import { postSteadily } from '../load/load.ts'
import { buildRequests } from '../load/requests.ts'
import { openSink } from '../load/sink.ts'
import type { RunWorker, Work } from './spool-worker.ts'

export type Drain = {
  /** Live envelopes a second. */
  live: number
  delivered: number
  /** Rate of spooled entries, measured from when a third of them was delivered. */
  perSecond: number
  /** p99 of the live envelopes, in milliseconds. */
  p99: number
}

const KEY = '0123456789abcdef0123456789abcdef'
const LIVE = 500
const LIVE_SECONDS = 20
const CONNECTIONS = 32
const LOOK_MS = 100
const AT_A_TIME = 256

/** Spool to fill with `many` entries. */
type Filling = { url: string; many: number; run: RunWorker }

/** Measures a drain beside live traffic. Workers find the spool at `place`, the tunnel at `url`. */
export async function measureDrain(place: string, { url, many, run }: Filling): Promise<Drain> {
  await using sink = await openSink()
  const dsn = `http://${KEY}@127.0.0.1:${sink.port}/456`
  await run(place, 'put', many, AT_A_TIME, dsn)
  await using tunnel = await startTunnel({ env: { SENTRY_DSN: dsn, SPOOL_URL: url }, timeout: 30_000 })
  const requests = buildRequests('3.3 KB error', [dsn])
  const began = performance.now()
  const posting = postSteadily(
    { port: tunnel.port, requests, posts: LIVE * LIVE_SECONDS, connections: CONNECTIONS },
    LIVE,
  )
  const delivered = () =>
    sink.seen.envelopes - Math.min(LIVE_SECONDS, (performance.now() - began) / 1000) * LIVE
  const reached = async (share: number) => {
    while (delivered() < many * share) await sleep(LOOK_MS)
    return { at: performance.now(), delivered: delivered() }
  }
  const ramped = await reached(1 / 3)
  const done = await reached(0.95)
  const { p99 } = await posting
  const perSecond = ((done.delivered - ramped.delivered) * 1000) / (done.at - ramped.at)
  return { live: LIVE, delivered: many, perSecond, p99 }
}

/** Measures how long a tunnel takes to deliver a full spool after its start, without live traffic. */
export async function measureEmptying(
  what: Work,
  { url, many, run }: Filling,
): Promise<{ seconds: number; perSecond: number }> {
  await using sink = await openSink()
  const dsn = `http://${KEY}@127.0.0.1:${sink.port}/456`
  await run(url, what, many, AT_A_TIME, dsn)
  await using _tunnel = await startTunnel({ env: { SENTRY_DSN: dsn, SPOOL_URL: url }, timeout: 30_000 })
  const began = performance.now()
  const reached = async (share: number) => {
    while (sink.seen.envelopes < many * share) await sleep(LOOK_MS)
    return performance.now()
  }
  const [ramped, nearly, done] = [await reached(1 / 3), await reached(0.95), await reached(1)]
  return { seconds: (done - began) / 1000, perSecond: (many * (0.95 - 1 / 3) * 1000) / (nearly - ramped) }
}
