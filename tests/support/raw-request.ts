/** Requests written byte by byte, as no HTTP client sends them. */

import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Answered } from './post.ts'

/** Sends the bytes unmodified. Resolves with the response when the server closes the connection. */
export async function exchangeRaw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes, 'latin1')
  return text(socket)
}

/** Sends the bytes and parses the response, whose body must be JSON. */
export async function sendRaw(port: number, bytes: string): Promise<Answered> {
  const [head = '', body = ''] = (await exchangeRaw(port, bytes)).split('\r\n\r\n')
  const [line = '', ...lines] = head.split('\r\n')
  const headers = lines.map((each) => /^(.*?): (.*)$/.exec(each)?.slice(1) ?? [])
  return {
    status: Number(line.split(' ')[1]),
    headers: Object.fromEntries(headers.map(([name = '', value]) => [name.toLowerCase(), value])),
    text: body,
    json: JSON.parse(body),
  }
}
