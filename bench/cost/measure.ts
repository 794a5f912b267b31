/** Takes samples: posts envelopes through a server, and verifies that all counters agree. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type LoadOptions, postInTurn, type Timing } from '../load/load.ts'
import { cpuSeconds, residentBytes } from '../load/process-cost.ts'
import type { Requests } from '../load/requests.ts'
import type { Server } from '../load/server.ts'
import type { Sink } from '../load/sink.ts'
import { Invalid } from '../report/run.ts'

export type Sample = {
  /** CPU time per envelope in µs. */
  cpu: number
  /** Envelopes per second. */
  rate: number
  /** Latency in ms. */
  p50: number
  p99: number
  /** Resident memory in bytes at the end. */
  rss: number
  posts: number
}

/** Server under test, with the number of envelopes posted since its start. */
export type Target = {
  name: string
  server: Server
  requests: Requests
  connections: number
  posted: number
}

type Load = (options: LoadOptions) => Promise<Timing>

export const CONNECTIONS = 32
const SETTLING_MS = 5000 // the log is written within 200 ms; the machine may be busy

/** Takes a sample. Rejects with `Invalid` when other numbers arrived at the sink than were posted. */
export async function measure(
  target: Target,
  sink: Sink,
  posts: number,
  load: Load = postInTurn,
): Promise<Sample> {
  const before = { ...sink.seen }
  const figures = await observe(target, posts, load)
  target.posted += posts
  checkSink(target, sink, before, posts)
  return figures
}

/** Takes a sample without comparing the counters. */
export async function observe(
  { server, requests, connections }: Pick<Target, 'server' | 'requests' | 'connections'>,
  posts: number,
  load: Load = postInTurn,
): Promise<Sample> {
  const before = cpuSeconds(...server.pids())
  const { p50, p99, durationMs, posted } = await load({ port: server.port, requests, posts, connections })
  const cpu = cpuSeconds(...server.pids()) - before
  return {
    cpu: (cpu * 1e6) / posted,
    rate: (posted * 1000) / durationMs,
    ...{ p50, p99, rss: residentBytes(...server.pids()), posts: posted },
  }
}

function checkSink(
  { name, requests }: Target,
  { seen }: Sink,
  before: { envelopes: number; bytes: number },
  posts: number,
): void {
  const envelopes = seen.envelopes - before.envelopes
  const bytes = seen.bytes - before.bytes
  if (seen.faults.length > 0) throw new Invalid(`${name} sent Sentry what is no POST:\n${seen.faults[0]}`)
  if (envelopes !== posts) throw new Invalid(`${name}: ${posts} posts, ${envelopes} arrived at the sink`)
  if (bytes !== posts * requests.bodyBytes)
    throw new Invalid(`${name}: ${posts * requests.bodyBytes} bytes posted, ${bytes} arrived at the sink`)
}

/** Rejects with `Invalid` when a server counted other numbers than were posted. After the last sample: reading all receipts burdens the next one. */
export async function checkBooks({ name, server, posted }: Target): Promise<void> {
  const deadline = performance.now() + SETTLING_MS
  for (;;) {
    const counts = Object.entries(await server.counts())
    const wrong = counts.filter(([, count]) => count !== posted)
    if (wrong.length === 0) return
    if (performance.now() > deadline)
      throw new Invalid(
        `${name}: ${posted} posts, ${wrong.map(([counter, n]) => `${n} ${counter}`).join(', ')}`,
      )
    await sleep(50)
  }
}
