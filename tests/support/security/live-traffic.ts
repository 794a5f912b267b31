/** Errors posted at a steady rate, independent of response times, and the percentiles of their durations. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { errorOf } from '../envelopes.ts'

export type LiveTraffic = { count: number; statuses: Record<string, number>; p50: number; p99: number }

/** Posts an error to `url` (scheme, host, port) every `everyMs` until it is stopped. Durations are in milliseconds. */
export function startLiveTraffic(url: string, dsn: string, everyMs: number) {
  const dispatcher = new Agent()
  const durations: number[] = []
  const statuses: Record<string, number> = {}
  let isGoing = true
  const posting = postAll()

  async function postAll(): Promise<void> {
    const pending: Promise<void>[] = []
    for (; isGoing; await sleep(everyMs)) pending.push(postOne())
    await Promise.all(pending)
  }

  async function postOne(): Promise<void> {
    const began = performance.now()
    const body = errorOf(dsn)
    const response = await request(`${url}/monitoring`, { method: 'POST', body, dispatcher })
    await response.body.dump()
    durations.push(performance.now() - began)
    statuses[response.statusCode] = (statuses[response.statusCode] ?? 0) + 1
  }

  return {
    async end(): Promise<LiveTraffic> {
      isGoing = false
      await posting
      await dispatcher.close()
      durations.sort((a, b) => a - b)
      const percentile = (share: number) => durations[Math.floor(share * durations.length)] ?? Number.NaN
      return { count: durations.length, statuses, p50: percentile(0.5), p99: percentile(0.99) }
    },
  }
}

export function describeTraffic({ count, statuses, p50, p99 }: LiveTraffic): string {
  return `live: ${count} ${JSON.stringify(statuses)}, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`
}
