/** Responses of the recording Sentry: as Relay's, or faulty. */

import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Received } from './received-request.ts'

export type Reply = {
  /** 200 unless given. */
  status?: number
  headers?: Record<string, string>
  /** Body; an object is sent as JSON. Relay's response, `{"id": …}` or `{}`, unless given. */
  body?: string | object
  delayMs?: number
}

/**
 * - `silent`: takes the request and never answers
 * - `limiting`: 429, errors held back for 60 s
 * - `redirecting`: 302 to another server; following it is a fault
 * - `hanging-up`: reads the body, then drops the connection
 * - `hanging-up-early`: drops the connection before it reads the body; counted in `cut`, not in `requests`
 */
export type Misbehaviour = 'silent' | 'limiting' | 'redirecting' | 'hanging-up' | 'hanging-up-early'

export type Answer = Reply | Misbehaviour
export type Answering = Answer | ((received: Received) => Answer | Promise<Answer>)

/** Sends `response`; a redirect points to `elsewhere`. Rejects when `signal` aborts a delay. */
export async function give(
  answer: Answer,
  received: Received,
  response: ServerResponse,
  elsewhere: string,
  signal: AbortSignal,
): Promise<void> {
  if (answer === 'silent') return
  if (answer === 'hanging-up' || answer === 'hanging-up-early') return void response.destroy()
  const reply = typeof answer === 'string' ? replyOf(answer, elsewhere) : answer
  if (reply.delayMs) await sleep(reply.delayMs, undefined, { signal })
  const id = received.header.event_id
  send(response, { body: id === undefined ? {} : { id }, ...reply })
}

function replyOf(misbehaviour: 'limiting' | 'redirecting', elsewhere: string): Reply {
  if (misbehaviour === 'redirecting') return { status: 302, headers: { location: elsewhere }, body: '' }
  return {
    status: 429,
    headers: { 'x-sentry-rate-limits': '60:error:organization', 'retry-after': '60' },
    body: { detail: 'Sentry dropped data due to a quota or internal rate limit being reached.' },
  }
}

function send(response: ServerResponse, { status = 200, headers = {}, body = '' }: Reply): void {
  const json = typeof body === 'object'
  response.writeHead(status, { ...(json && { 'content-type': 'application/json' }), ...headers })
  response.end(json ? JSON.stringify(body) : body)
}
