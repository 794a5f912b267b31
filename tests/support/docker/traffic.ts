/** Visitors of a site who go on loading pages and posting errors, while something is done to it. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorOf } from '../envelopes.ts'
import { type Answered, type Posting, post } from '../post.ts'

const VISITORS = 6
const PAUSE_MS = 20 // so that two cores have some time left for what is tried meanwhile

export type Traffic = ReturnType<typeof startTraffic>

/**
 * Goes on until it is ended; each asks for pages and posts errors in turn. Several `urls` (scheme, host, port) are what stands behind a
 * balancer: one that hangs up has its request tried at the next.
 */
export function startTraffic(urls: string[], dsn: string) {
  const failures: string[] = []
  const acknowledged: string[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  let asked = 0
  let going = true

  async function visit(): Promise<void> {
    for (let n = 0; going; n++) {
      await (n % 2 === 0 ? loadPage() : report()).catch((error) => failures.push(String(error)))
      asked++
      for (const { count, resolve } of waiting) if (asked >= count) resolve()
      await sleep(PAUSE_MS)
    }
  }

  async function report(): Promise<void> {
    const id = randomUUID().replaceAll('-', '')
    const { status, text } = await balance(urls, { body: errorOf(dsn, { event_id: id }) })
    if (status === 200 || status === 202) acknowledged.push(id)
    else failures.push(`an error: ${status} ${text}`)
  }

  async function loadPage(): Promise<void> {
    const { status, text } = await balance(urls, { path: '/', method: 'GET' })
    if (status !== 200) failures.push(`a page: ${status} ${text}`)
  }

  const visitors = Array.from({ length: VISITORS }, visit)
  return {
    /** Resolves when so many more requests have ended. */
    more: (count: number) =>
      new Promise<void>((resolve) => void waiting.push({ count: asked + count, resolve })),
    /** Event ids of the errors that were taken. */
    acknowledged,
    /** Gives what was not answered as it should. */
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
