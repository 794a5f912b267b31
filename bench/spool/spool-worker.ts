/**
 * Process of the spool benchmark: `spool-worker.ts <file or nats://…> put|put-mixed|keep|drain <count> <concurrency> <dsn>`. It writes its
 * figures to stdout, as JSON.
 */

import { randomBytes } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseNatsUrl } from 'contract/nats-url'
import { envelopeOf } from '../../tests/support/envelopes.ts'
import {
  ALL,
  ENVELOPE_BYTES,
  inOne,
  LONG_MS,
  PLENTY,
  PROJECT,
  spoolEntryOf,
} from '../../tests/support/spool/entries.ts'
import type { Spool } from '../../tunnel/src/pipeline/spool.ts'
import { openJetStreamSpool } from '../../tunnel/src/store/jetstream/jetstream-spool.ts'
import { openSqliteSpool } from '../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { quantile } from '../report/statistics.ts'

/** Share of large bodies: one in 40 has 1.5 MB. */
export type Work = 'put' | 'put-mixed' | 'keep' | 'drain'

/** Times in milliseconds; wall-clock times count from 1970. */
export type WorkerFigures = {
  opened: number
  began: number
  ended: number
  done: number
  p50: number
  p99: number
  loopDelayP99: number
  /** CPU time in seconds, which includes building the envelopes. */
  cpu: number
  rss: number
  /** Of kept envelopes. */
  eventIds?: string[]
}

/** Starts a worker and returns its figures. */
export type RunWorker = (
  place: string,
  what: Work,
  many: number,
  atATime?: number,
  dsn?: string,
) => Promise<WorkerFigures>

const BATCH = 64 // leases at a time
const LARGE_BYTES = 1_500_000
const LARGE_EVERY = 40

const KEPT = { bytes: 1024 ** 3, ageMs: 24 * 60 * 60 * 1000 }
const DAY_MS = 24 * 60 * 60 * 1000
const HEADER_BYTES = 300 // bytes that an entry has beside its body, rounded up

const [place = '', what = 'put', many = '0', atATime = '1', dsn = PROJECT] = process.argv.slice(2)
const opening = performance.now()
const spool = await open()
const opened = performance.now() - opening
const took: number[] = []
const eventIds: string[] = []
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const began = Date.now()
const cpuBefore = process.cpuUsage()
await (what === 'drain' ? drain(spool, Number(many)) : putAll(spool, Number(many), Number(atATime)))
const ended = Date.now()
delay.disable()
const { user, system } = process.cpuUsage(cpuBefore)
const sorted = Float64Array.from(took).sort()
const figures: WorkerFigures = {
  ...{ opened, began, ended, done: took.length, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) },
  ...{ loopDelayP99: delay.percentile(99) / 1e6, cpu: (user + system) / 1e6 },
  rss: process.memoryUsage.rss(),
  ...(eventIds.length > 0 && { eventIds }),
}
console.log(JSON.stringify(figures))
await spool.close()

function open(): Promise<Spool> {
  const nats = parseNatsUrl(place)
  return nats
    ? openJetStreamSpool(nats, { ...PLENTY, ageMs: DAY_MS }, Date.now)
    : openSqliteSpool(place, { ...PLENTY, kept: KEPT })
}

async function putAll(to: Spool, count: number, concurrency: number): Promise<void> {
  let left = count
  const putOn = async () => {
    while (left-- > 0) {
      const isLarge = what === 'put-mixed' && left % LARGE_EVERY === 0
      const eventId = randomBytes(16).toString('hex')
      const body = newError(eventId, isLarge ? LARGE_BYTES : ENVELOPE_BYTES)
      const network = `198.51.100.${left % 250}`
      const waiting = await spoolEntryOf(body, { project: dsn, network, eventId })
      const since = performance.now()
      if (what === 'keep') {
        await to.entries.keep(waiting, inOne(body), { state: 'kept', status: 200 })
        eventIds.push(waiting.eventId ?? '')
      } else await to.put(waiting, inOne(body), 0)
      took.push(performance.now() - since)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, putOn))
}

/** Delivers as the deliverer does, to a Sentry that responds at once. */
async function drain(from: Spool, count: number): Promise<void> {
  while (took.length < count) {
    const since = performance.now()
    const leases = await from.take(BATCH, LONG_MS, ALL)
    if (leases.length === 0) return
    await Promise.all(
      leases.map(async (lease) => {
        await from.read(lease)
        await from.finish(lease)
        took.push(performance.now() - since)
      }),
    )
  }
}

function newError(eventId: string, bytes: number): Buffer {
  const payload = JSON.stringify({ message: randomBytes((bytes - HEADER_BYTES) / 2).toString('hex') })
  const header = { event_id: eventId, sent_at: new Date().toISOString(), dsn }
  return envelopeOf(header, [{ header: { type: 'event', length: payload.length }, payload }])
}
