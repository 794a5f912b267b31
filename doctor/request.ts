/** One HTTP request of the doctor, every header at will, and all of its answer within bounds. */

import { type IncomingHttpHeaders, type RequestOptions, request } from 'node:http'
import { request as requestTls } from 'node:https'

export type Asking = {
  method?: string
  headers?: Record<string, string>
  body?: Buffer
  /** Milliseconds for all of it. */
  within?: number
}

export type Answer = {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** Milliseconds until it was there. */
  took: number
}

/** The other side is not there, hung up or was too slow; the message is a sentence. */
export class NoAnswer extends Error {}

const WITHIN = 20_000 // ms
const MOST_BYTES = 1024 * 1024 // of an answer; the rest is left

/** Redirects are not followed. Throws `NoAnswer`. */
export function ask(url: string, asking: Asking = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, within = WITHIN } = asking
  const began = performance.now()
  const signal = AbortSignal.timeout(within)
  const options: RequestOptions = { method, signal, headers, agent: false }
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const outgoing = url.startsWith('https:') ? requestTls(url, options) : request(url, options)
  outgoing.on('error', (error) => reject(new NoAnswer(sayWhy(url, error, signal, within))))
  outgoing.on('response', (incoming) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const end = () => {
      const text = Buffer.concat(chunks).toString()
      resolve({
        status: incoming.statusCode ?? 0,
        headers: incoming.headers,
        text,
        took: performance.now() - began,
      })
      outgoing.destroy() // whatever of the body was not wanted any more
    }
    incoming.on('error', end).on('end', end)
    incoming.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > MOST_BYTES) end()
    })
  })
  if (body === undefined && headers['content-length'] !== undefined)
    outgoing.flushHeaders() // it only says that a body comes
  else outgoing.end(body)
  return promise
}

function sayWhy(
  url: string,
  { message, code }: NodeJS.ErrnoException,
  signal: AbortSignal,
  within: number,
): string {
  const { host } = new URL(url)
  if (signal.aborted) return `${host} did not answer within ${within / 1000} s.`
  return `${host} gave no answer (${code ?? message}).`
}

/** The JSON object in an answer; an empty one where there is none. */
export function jsonOf({ text }: Answer): Record<string, unknown> {
  try {
    const json = JSON.parse(text)
    return typeof json === 'object' && json !== null ? json : {}
  } catch {
    return {}
  }
}

/** Like `403 dsn-unknown`, or `413 text/html`. */
export function nameOf(answer: Answer): string {
  const { code } = jsonOf(answer)
  return `${answer.status} ${typeof code === 'string' ? code : (answer.headers['content-type'] ?? 'without a body')}`
}
