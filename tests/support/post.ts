/** Posts to a tunnel as a browser or any other client does, with any header. */

import type { Readable } from 'node:stream'
import { type Dispatcher, request } from 'undici'

export type Posting = {
  /** `/monitoring` unless given. */
  path?: string
  method?: Dispatcher.HttpMethod
  headers?: Record<string, string | string[]>
  /** A stream is sent chunked, without Content-Length. */
  body?: string | Buffer | Readable
}

export type Answered = {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** `spooled`, or absent. */
  outcome?: string
  /** `undefined` when the text is not JSON. */
  json: unknown
}

/** A response whose head has arrived, but not all of its body. */
export class ResponseCut extends Error {}

/** Sends one request to `url` (scheme, host, port), and returns the whole response. Redirects are not followed. */
export async function post(
  url: string,
  { path = '/monitoring', method = 'POST', headers = {}, body = '' }: Posting,
): Promise<Answered> {
  const sent = method === 'GET' || method === 'HEAD' ? null : body
  const response = await request(`${url}${path}`, { method, headers, body: sent })
  const text = await response.body.text().catch((cause) => {
    throw new ResponseCut(`The response of ${path} was cut off`, { cause })
  })
  const { statusCode: status, headers: answered } = response
  const outcome = answered['x-culvert-outcome']
  return {
    status,
    headers: answered,
    text,
    json: parse(text),
    ...(typeof outcome === 'string' && { outcome }),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
