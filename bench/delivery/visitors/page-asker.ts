/** A thread: asks for each page again and again until it is told to stop. */

import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { Asked, Errand } from './page-times.ts'

const PATIENCE = 10_000 // ms; a visitor has long gone

let going = true
parentPort?.once('message', () => {
  going = false
})

const { urls, everyMs } = workerData as Errand
parentPort?.postMessage(await Promise.all(urls.map(askFor)))

async function askFor(url: string): Promise<Asked> {
  const asked: Asked = { times: [], failed: 0 }
  while (going) {
    const began = performance.now()
    const came = await ask(url).catch(() => false)
    if (came) asked.times.push(performance.now() - began)
    else asked.failed++
    await sleep(everyMs)
  }
  return asked
}

async function ask(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(PATIENCE) })
  await answer.arrayBuffer()
  return answer.ok
}
