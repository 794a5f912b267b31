/** One measurement: so many envelopes through one server, what they cost, and whether everybody counted them. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type LoadOptions, postInTurn, type Timing } from '../load/load.ts'
import { cpuSeconds, residentBytes } from '../load/process-cost.ts'
import type { Requests } from '../load/requests.ts'
import type { Server } from '../load/server.ts'
import type { Sink } from '../load/sink.ts'
import { Invalid } from '../report/run.ts'

export type Figures = {
  /** Microseconds of CPU time for each envelope. */
  cpu: number
  /** Envelopes a second. */
  rate: number
  /** Milliseconds. */
  p50: number
  p99: number
  /** Bytes held at the end. */
  rss: number
  /** Envelopes that were posted. */
  posts: number
}

/** A server, and how many envelopes it has been posted since its start. */
export type Subject = {
  name: string
  server: Server
  requests: Requests
  connections: number
  posted: number
}

type Load = (options: LoadOptions) => Promise<Timing>

export const CONNECTIONS = 32
const SETTLING_MS = 5000 // a log is written out within 200 ms; the machine may be busy

/** Rejects with `Invalid` when the sink, or the server's own books, counted otherwise than we posted. */
export async function measure(
  subject: Subject,
  sink: Sink,
  posts: number,
  load: Load = postInTurn,
): Promise<Figures> {
  const before = { ...sink.seen }
  const figures = await observe(subject, posts, load)
  subject.posted += posts
  checkSink(subject, sink, before, posts)
  await checkBooks(subject)
  return figures
}

/** Asks nobody what they have counted. */
export async function observe(
  { server, requests, connections }: Pick<Subject, 'server' | 'requests' | 'connections'>,
  posts: number,
  load: Load = postInTurn,
): Promise<Figures> {
  const before = cpuSeconds(...server.pids())
  const { p50, p99, took, posted } = await load({ port: server.port, requests, posts, connections })
  const cpu = cpuSeconds(...server.pids()) - before
  return {
    cpu: (cpu * 1e6) / posted,
    rate: (posted * 1000) / took,
    ...{ p50, p99, rss: residentBytes(...server.pids()), posts: posted },
  }
}

function checkSink(
  { name, requests }: Subject,
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

async function checkBooks({ name, server, posted }: Subject): Promise<void> {
  const deadline = performance.now() + SETTLING_MS
  for (;;) {
    const counts = Object.entries(await server.counts())
    const wrong = counts.filter(([, count]) => count !== posted)
    if (wrong.length === 0) return
    if (performance.now() > deadline)
      throw new Invalid(`${name}: ${posted} posts, ${wrong.map(([book, n]) => `${n} ${book}`).join(', ')}`)
    await sleep(50)
  }
}
