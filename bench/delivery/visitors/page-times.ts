/** How fast the site's own page comes meanwhile: asked for again and again by a thread that does nothing else. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { quantile } from '../../report/figures.ts'
import type { Way, WayName } from '../subjects/ways.ts'

/** Milliseconds until the page was there whole: the half of the times, and 95 in 100. Failed ones are none of them. */
export type PageTimes = { p50: number; p95: number; asked: number; failed: number }

export type Errand = { urls: string[]; everyMs: number }

export type Asked = { times: number[]; failed: number }

// In all, so that asking is no load of its own.
const ASKED_PER_SECOND = 5

/** Asks for the pages of these ways while `work` goes on. */
export async function timePages(
  ways: readonly Way[],
  work: () => Promise<void>,
): Promise<Map<WayName, PageTimes>> {
  const errand: Errand = {
    urls: ways.map(({ plainUrl }) => `${plainUrl}/`),
    everyMs: (1000 * ways.length) / ASKED_PER_SECOND,
  }
  const worker = new Worker(new URL('./page-asker.ts', import.meta.url), { workerData: errand })
  try {
    await work()
    worker.postMessage('stop')
    const [asked] = (await once(worker, 'message')) as [Asked[]]
    return new Map(ways.map(({ name }, i) => [name, summarize(asked[i])]))
  } finally {
    await worker.terminate()
  }
}

function summarize({ times, failed }: Asked = { times: [], failed: 0 }): PageTimes {
  const sorted = Float64Array.from(times).sort()
  return {
    p50: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    asked: times.length + failed,
    failed,
  }
}
