/** Measures how a real tunnel sends kept errors again while it forwards live ones: all arrive, with their own event IDs. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ResendStarted, ResendStatus } from 'contract/store'
import { startTunnel } from '../../tests/support/tunnel/tunnel.ts'
import { postSteadily } from '../load/load.ts'
import { buildRequests } from '../load/requests.ts'
import type { RunWorker } from './spool-worker.ts'

export type Rewind = {
  /** Live envelopes a second. */
  live: number
  /** p99 of the live envelopes before the rewind and during it, in milliseconds. */
  p99Before: number
  p99During: number
  seconds: number
  /** Kept errors that arrived, those that arrived more than once, and event IDs that were neither kept nor live. */
  arrived: number
  twice: number
  unknown: number
}

const KEY = '0123456789abcdef0123456789abcdef'
const LIVE = 200
const CALM_SECONDS = 20
const MEASURED_SECONDS = 60 // of the rewind
const CONNECTIONS = 32
const LOOK_MS = 500
const EVENT_ID = /"event_id":"([0-9a-f]{32})"/

/** Rewinds `many` kept errors of the spool at `place`, which the tunnel finds at `url`. */
export async function measureRewind(
  place: string,
  { url, many, run }: { url: string; many: number; run: RunWorker },
): Promise<Rewind> {
  const arrivals = new Map<string, number>()
  const server = createServer(async (request, response) => {
    const id = EVENT_ID.exec(await text(request))?.[1] ?? ''
    arrivals.set(id, (arrivals.get(id) ?? 0) + 1)
    response.end(`{"id":"${id}"}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const dsn = `http://${KEY}@127.0.0.1:${(server.address() as AddressInfo).port}/456`
  const { eventIds = [] } = await run(place, 'keep', many, 64, dsn)
  const kept = new Set(eventIds)
  await using tunnel = await startTunnel({
    env: { SENTRY_DSN: dsn, SPOOL_URL: url, KEEP_HOURS: '24', SPOOL_BYTES: String(20 * 1024 ** 3) },
    timeout: 30_000,
  })
  const requests = buildRequests('3.3 KB error', [dsn])
  const post = (seconds: number) =>
    postSteadily({ port: tunnel.port, requests, posts: LIVE * seconds, connections: CONNECTIONS }, LIVE)
  const before = await post(CALM_SECONDS)
  const live = new Set(arrivals.keys())
  const began = performance.now()
  const order = JSON.stringify({ state: 'kept', from: 0, to: Date.now() })
  const started = await tunnel.admin('/store/resend', { method: 'POST', body: order })
  const { entries } = (await started.json()) as ResendStarted
  if (entries < many) throw new Error(`${entries} of ${many} kept errors match`)
  const during = await post(MEASURED_SECONDS)
  let job: ResendStatus['job']
  while (job?.finished === undefined) {
    await sleep(LOOK_MS)
    job = ((await (await tunnel.admin('/store/resend')).json()) as ResendStatus).job
  }
  const arrived = () => [...kept].filter((id) => arrivals.has(id)).length
  for (let rounds = 0; rounds < 60 && arrived() < many; rounds++) await sleep(LOOK_MS)
  const seconds = (performance.now() - began) / 1000
  server.close()
  return {
    ...{ live: LIVE, p99Before: before.p99, p99During: during.p99, seconds, arrived: arrived() },
    twice: [...kept].filter((id) => (arrivals.get(id) ?? 0) > 1).length,
    unknown: [...arrivals.keys()].filter((id) => !kept.has(id) && !live.has(id)).length,
  }
}
