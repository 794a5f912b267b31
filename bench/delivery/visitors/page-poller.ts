/** Thread that polls pages until it is told to stop. */

import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

export type PollJob = { urls: string[]; everyMs: number }

export type PollResult = { times: number[]; failed: number }

const TIMEOUT_MS = 10_000 // a visitor would have left

let isRunning = true
parentPort?.once('message', () => {
  isRunning = false
})

const { urls, everyMs } = workerData as PollJob
parentPort?.postMessage(await Promise.all(urls.map(poll)))

async function poll(url: string): Promise<PollResult> {
  const requests: PollResult = { times: [], failed: 0 }
  while (isRunning) {
    const began = performance.now()
    const isOk = await request(url).catch(() => false)
    if (isOk) requests.times.push(performance.now() - began)
    else requests.failed++
    await sleep(everyMs)
  }
  return requests
}

async function request(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  await response.arrayBuffer()
  return response.ok
}
