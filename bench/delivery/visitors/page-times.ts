/** Measures the response time of the site's page during a scenario, from a separate thread. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { quantile } from '../../report/statistics.ts'
import type { Subject, SubjectName } from '../subjects/subjects.ts'
import type { PollJob, PollResult } from './page-poller.ts'

/** Response times in ms; failed requests count for none of them. */
export type PageTimes = { p50: number; p95: number; requests: number; failed: number }

// For all subjects together, so that polling is no load of its own.
const POLLS_PER_SECOND = 5

/** Polls the pages of subjects while `work` runs. */
export async function timePages(
  subjects: readonly Subject[],
  work: () => Promise<void>,
): Promise<Map<SubjectName, PageTimes>> {
  const job: PollJob = {
    urls: subjects.map(({ plainUrl }) => `${plainUrl}/`),
    everyMs: (1000 * subjects.length) / POLLS_PER_SECOND,
  }
  const worker = new Worker(new URL('./page-poller.ts', import.meta.url), { workerData: job })
  try {
    await work()
    worker.postMessage('stop')
    const [requests] = (await once(worker, 'message')) as [PollResult[]]
    return new Map(subjects.map(({ name }, i) => [name, summarize(requests[i])]))
  } finally {
    await worker.terminate()
  }
}

function summarize({ times, failed }: PollResult = { times: [], failed: 0 }): PageTimes {
  const sorted = Float64Array.from(times).sort()
  return {
    p50: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    requests: times.length + failed,
    failed,
  }
}
