/** Envelopes posted to several tunnels in turn at a steady rate, from many addresses, independent of response times. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { envelopeAt, type Sent } from './envelope-kinds.ts'

/** `status` is 0 for a broken request. */
export type Answered = Sent & { status: number; isSpooled: boolean; sentAt: number; took: number }

const ADDRESSES = 250
const EVERY_MS = 10

/** Posts `rate` envelopes a second to the current `urls` until it is stopped: of every kind, unless `make` is given. */
export function startSteadyLoad(urls: () => readonly string[], dsn: string, rate: number, make = envelopeAt) {
  const agent = new Agent({ connections: 256 })
  const answers: Answered[] = []
  const inHand = new Set<Promise<void>>()
  let posted = 0
  let [most, paused, going] = [0, false, true]
  const posting = postOn()
  return { answers, inHand: () => inHand.size, pause, resume, end, most: () => most }

  async function postOn(): Promise<void> {
    for (let owed = 0, last = performance.now(); going; await sleep(EVERY_MS)) {
      const time = performance.now()
      owed = paused ? 0 : Math.min(rate, owed + ((time - last) * rate) / 1000) // a starved process does not catch up
      last = time
      for (; owed >= 1; owed--) begin(posted++)
    }
  }

  function begin(n: number): void {
    const all = urls()
    const url = all[n % all.length] ?? ''
    const done = postOne(url, make(n, dsn), n).finally(() => inHand.delete(done))
    inHand.add(done)
    most = Math.max(most, inHand.size)
  }

  async function postOne(url: string, sent: Sent, n: number): Promise<void> {
    const sentAt = performance.now()
    const headers = {
      'x-forwarded-for': `203.0.113.${n % ADDRESSES}`,
      ...(sent.encoding && { 'content-encoding': sent.encoding }),
    }
    const { body } = sent
    const answer = await request(`${url}/monitoring`, {
      method: 'POST',
      headers,
      body,
      dispatcher: agent,
    }).then(
      async (response) => {
        await response.body.dump()
        const isSpooled = response.headers['x-culvert-outcome'] === 'spooled'
        return { status: response.statusCode, isSpooled }
      },
      () => ({ status: 0, isSpooled: false }),
    )
    answers.push({ ...sent, body: Buffer.alloc(0), ...answer, sentAt, took: performance.now() - sentAt })
  }

  /** Resolves when nothing is pending. */
  async function pause(): Promise<void> {
    paused = true
    await Promise.all(inHand)
  }

  function resume(): void {
    paused = false
  }

  async function end(): Promise<Answered[]> {
    going = false
    await posting
    await Promise.all(inHand)
    await agent.close()
    return answers
  }
}
