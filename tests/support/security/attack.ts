/** Sends attacks, and checks that each response is allowed. */

import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { REJECTIONS } from '../../../contract/rejections.ts'
import type { Attack } from './corpus.ts'

export type Outcome = {
  /** Status; 0 when the upload was still open at the deadline, or the connection broke. */
  status: number
  text: string
  seconds: number
  sentBytes: number
  /** Error code of a connection that broke before the response. */
  broken?: string
}

export type SendOptions = {
  /** Time after which the client gives up, in ms. */
  deadlineMs: number
  headers?: Record<string, string>
}

const STATUSES = [200, 400, 403, 408, 413, 415, 429, 503]
const MIB = 1024 * 1024
const TRICKLE_MS = 50

/** Posts `attack` to `url` on a connection of its own. Resolves with the outcome, never rejects. */
export function send(
  url: string,
  { headers, body, withheldBytes = 0, isTrickle = false }: Attack,
  { deadlineMs, headers: more }: SendOptions,
): Promise<Outcome> {
  const started = performance.now()
  const length = isTrickle ? {} : { 'content-length': String(body.length) }
  return new Promise((resolve) => {
    let sentBytes = 0
    let trickle: NodeJS.Timeout | undefined
    const open = request(`${url}/monitoring`, {
      method: 'POST',
      agent: false,
      headers: { ...length, ...headers, ...more },
    })
    const deadline = setTimeout(() => finish(0, ''), deadlineMs)
    open.on('error', (error: NodeJS.ErrnoException) => finish(0, '', error.code ?? error.message))
    open.on('response', (response) => {
      text(response).then(
        (answer) => finish(response.statusCode ?? 0, answer),
        (error) => finish(0, '', String(error)),
      )
    })
    if (isTrickle) {
      trickle = setInterval(() => write(body.subarray(sentBytes, sentBytes + 1)), TRICKLE_MS)
    } else {
      write(body.subarray(0, body.length - withheldBytes))
      if (withheldBytes === 0) open.end()
    }

    function write(bytes: Buffer): void {
      open.write(bytes)
      sentBytes += bytes.length
    }

    function finish(status: number, answer: string, broken?: string): void {
      clearTimeout(deadline)
      clearInterval(trickle)
      open.destroy()
      const seconds = (performance.now() - started) / 1000
      resolve({ status, text: answer, seconds, sentBytes, ...(broken && { broken }) })
    }
  })
}

/** Posts the attack several times in parallel. */
export function sendTogether(
  url: string,
  attack: Attack,
  count: number,
  options: SendOptions,
): Promise<Outcome[]> {
  return Promise.all(Array.from({ length: count }, () => send(url, attack, options)))
}

/** Returns the fault of an outcome as a sentence; `undefined` when the outcome is allowed. */
export function faultOf(
  attack: Attack,
  { status, text: answer, broken, seconds }: Outcome,
): string | undefined {
  const isOpen = attack.isTrickle || attack.withheldBytes !== undefined
  if (broken) return `the connection broke: ${broken}`
  if (status === 0) return isOpen ? undefined : `no response within ${seconds.toFixed(1)} s`
  if (!STATUSES.includes(status)) return `status ${status}`
  const json = parse(answer)
  if (json === undefined) return `status ${status} without a JSON object`
  if (status < 300) return attack.isValid ? undefined : `status ${status} for an invalid envelope`
  const rejection: { status: number } | undefined = Object.entries(REJECTIONS).find(
    ([code]) => code === json.code,
  )?.[1]
  return rejection?.status === status ? undefined : `status ${status} with the code ${json.code}`
}

function parse(answer: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(answer)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** Returns the largest number of bytes that Sentry may receive for requests: 100 times as many as received, or 1 MiB for each. */
export function allowedBytes(outcomes: readonly Pick<Outcome, 'sentBytes'>[]): number {
  return outcomes.reduce((sum, { sentBytes }) => sum + Math.max(MIB, sentBytes * 100), 0)
}

/** Formats statuses and their counts, like `400 × 30, 503 × 2`. */
export function tally(outcomes: readonly Outcome[]): string {
  const counts = new Map<string, number>()
  for (const { status, broken } of outcomes) {
    const name = broken ?? (status === 0 ? 'open' : String(status))
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => `${name} × ${count}`).join(', ')
}
