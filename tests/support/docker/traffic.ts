/** Visitors of a site who load pages and post errors during a change of the site. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorOf } from '../envelopes.ts'
import { type Answered, type Posting, post, ResponseCut } from '../post.ts'

const VISITORS = 6
const PAUSE_MS = 50 // so that the two cores have some time left for the test
const PAGE_EVERY = 4 // requests: a page takes ten times the CPU time of an error

export type Traffic = ReturnType<typeof startTraffic>

/**
 * Runs until it is stopped; each visitor requests a page now and then, and posts errors. With several `urls` (scheme, host, port), as behind a
 * load balancer, a request whose connection breaks is sent to the next one.
 */
export function startTraffic(urls: string[], dsn: string) {
  const failures: string[] = []
  const acknowledged: string[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  let asked = 0
  let going = true
  let mayBeCut = false

  async function visit(): Promise<void> {
    for (let n = 0; going; n++) {
      await (n % PAGE_EVERY === 0 ? loadPage() : report()).catch((error) => {
        if (!mayBeCut || !(error instanceof ResponseCut)) failures.push(String(error))
      })
      asked++
      for (const { count, resolve } of waiting) if (asked >= count) resolve()
      await sleep(PAUSE_MS)
    }
  }

  async function report(): Promise<void> {
    const id = randomUUID().replaceAll('-', '')
    const { status, text } = await balance(urls, { body: errorOf(dsn, { event_id: id }) })
    if (status === 200) acknowledged.push(id)
    else failures.push(`an error: ${status} ${text}`)
  }

  async function loadPage(): Promise<void> {
    const { status, text } = await balance(urls, { path: '/', method: 'GET' })
    if (status !== 200) failures.push(`a page: ${status} ${text}`)
  }

  const visitors = Array.from({ length: VISITORS }, visit)
  return {
    /** Resolves when `count` more requests have ended. */
    more: (count: number) =>
      new Promise<void>((resolve) => void waiting.push({ count: asked + count, resolve })),
    /** Accepts responses that end too early from now on: no server can complete one that a killed server began. */
    allowCut(): void {
      mayBeCut = true
    },
    /** Event IDs of the acknowledged errors. */
    acknowledged,
    /** Returns the failed responses. */
    async end(): Promise<string[]> {
      going = false
      await Promise.all(visitors)
      return failures
    },
  }
}

async function balance([url = '', ...others]: string[], posting: Posting): Promise<Answered> {
  const answer = post(url, posting)
  return others.length === 0 ? answer : answer.catch(() => balance(others, posting))
}
