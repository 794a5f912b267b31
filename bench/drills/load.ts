/** Posts errors at a steady rate, each with an event ID of its own, and keeps every answer. */

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { captureFor } from '../../tests/support/sdk-captures.ts'
import { plainPath } from '../load/requests.ts'

/** `status` is 0 when the connection broke. `code` is that of a rejection. */
export type Answer = { id: string; status: number; isSpooled: boolean; code: string; ms: number }

export type LoadOptions = { url: string; dsn: string; rate: number }

const CAPTURED = 'nextjs-11.1.0-init-tunnel-2-event' // 3.3 KB
const EVENT_ID = /"event_id":"([0-9a-f]{32})"/
const ADDRESSES = 250
const TICK_MS = 10

/** Posts until it is stopped. The duration of a request counts from when it was due. */
export function startLoad({ url, dsn, rate }: LoadOptions) {
  const agent = new Agent({ connections: 512 })
  const pending = new Set<Promise<void>>()
  const answers: Answer[] = []
  const text = captureFor(dsn, CAPTURED).toString('latin1')
  const [, captured = ''] = EVENT_ID.exec(text) ?? []
  const path = plainPath(new URL(dsn).pathname.slice(1))
  const start = performance.now()
  let posted = 0
  let isGoing = true
  const posting = postDue()
  return {
    answers,
    /** Stops, and resolves with all answers. */
    async end(): Promise<Answer[]> {
      isGoing = false
      await posting
      await Promise.all(pending)
      await agent.close()
      return answers
    },
  }

  async function postDue(): Promise<void> {
    for (; isGoing; await sleep(TICK_MS))
      for (let due = dueAt(posted); due <= performance.now(); due = dueAt(posted)) begin(due, posted++)
  }

  function dueAt(n: number): number {
    return start + (n * 1000) / rate
  }

  function begin(due: number, n: number): void {
    const done = post(due, n).finally(() => pending.delete(done))
    pending.add(done)
  }

  async function post(due: number, n: number): Promise<void> {
    const id = randomBytes(16).toString('hex')
    const answer = await send(text.replaceAll(captured, id), n).catch(() => ({
      status: 0,
      isSpooled: false,
      code: '',
    }))
    answers.push({ id, ...answer, ms: performance.now() - due })
  }

  async function send(body: string, n: number) {
    const response = await request(`${url}${path}`, {
      method: 'POST',
      headers: { 'x-forwarded-for': `198.18.0.${n % ADDRESSES}`, 'content-type': 'text/plain' },
      body: Buffer.from(body, 'latin1'),
      dispatcher: agent,
    })
    const answer = await response.body.text()
    return {
      status: response.statusCode,
      isSpooled: response.headers['x-culvert-outcome'] === 'spooled',
      code: /"code":"([\w-]+)"/.exec(answer)?.[1] ?? '',
    }
  }
}

export function isAcknowledged({ status }: Answer): boolean {
  return status >= 200 && status < 300
}
