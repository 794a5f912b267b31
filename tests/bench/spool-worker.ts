/** A process of the spool's benchmark: `spool-worker.ts <file> put|drain <how many> <at a time>`, its figures as JSON on stdout. */

import { randomBytes } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Spool } from '../../tunnel/src/spool/spool.ts'
import { openSqliteSpool } from '../../tunnel/src/spool/sqlite.ts'
import { ALL, ENVELOPE_BYTES, LONG_MS, PLENTY, waitingOf } from '../spool/waiting.ts'
import { quantile } from './figures.ts'

/** Times in milliseconds, since 1970 where they are of the clock. */
export type WorkerFigures = {
  opened: number
  began: number
  ended: number
  done: number
  p50: number
  p99: number
  loopDelayP99: number
  rss: number
}

const BATCH = 64 // leases at a time

const [file = '', what = 'put', many = '0', atATime = '1'] = process.argv.slice(2)
const opening = performance.now()
const spool = await openSqliteSpool(file, PLENTY)
const opened = performance.now() - opening
const took: number[] = []
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const began = Date.now()
await (what === 'drain' ? drain(spool, Number(many)) : putAll(spool, Number(many), Number(atATime)))
const ended = Date.now()
delay.disable()
const sorted = Float64Array.from(took).sort()
const figures: WorkerFigures = {
  ...{ opened, began, ended, done: took.length, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) },
  ...{ loopDelayP99: delay.percentile(99) / 1e6, rss: process.memoryUsage.rss() },
}
console.log(JSON.stringify(figures))
await spool.close()

async function putAll(to: Spool, count: number, lanes: number): Promise<void> {
  let left = count
  const putOn = async () => {
    while (left-- > 0) {
      const body = randomBytes(ENVELOPE_BYTES)
      const waiting = await waitingOf(body, { network: `198.51.100.${left % 250}` })
      const since = performance.now()
      await to.put(waiting, body, 0)
      took.push(performance.now() - since)
    }
  }
  await Promise.all(Array.from({ length: lanes }, putOn))
}

/** As delivery does it, to a Sentry that takes no time. */
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
