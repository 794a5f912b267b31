/** Posts prebuilt requests over one keep-alive connection, and waits for the end of each response. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Request } from './requests.ts'

export type Connection = {
  /** Posts a request; only after the previous response is complete. */
  post(request: Request): void
  close(): void
}

export type Listener = {
  onResponse: (connection: Connection) => void
  /** Called for any response but 200, and when the connection breaks. */
  onFault: (fault: Error) => void
}

const READ_BYTES = 16 * 1024

/** Opens a connection. When the server closes it after a response (nginx does after 1,000), another one replaces it. */
export async function openConnection(port: number, listener: Listener): Promise<Connection> {
  const { onResponse, onFault } = listener
  let text = ''
  let socket = dial()
  const connection: Connection = { post, close: () => hangUp(socket) }
  await once(socket, 'connect')
  return connection

  function dial(): Socket {
    // `onread` reuses one buffer: a response allocates nothing.
    const onread = { buffer: Buffer.alloc(READ_BYTES), callback: take }
    const dialled = connect({ host: '127.0.0.1', port, noDelay: true, onread })
    dialled.on('error', onFault)
    dialled.on('close', () => onFault(new Error('a connection was closed before its answer')))
    return dialled
  }

  function post(request: Request): void {
    socket.cork()
    for (const part of request) socket.write(part)
    socket.uncork()
  }

  function take(bytes: number, buffer: Uint8Array): boolean {
    text += (buffer as Buffer).toString('latin1', 0, bytes)
    if (!isWhole(text)) return true
    const answer = text
    text = ''
    if (isLast(answer)) {
      hangUp(socket)
      socket = dial()
    }
    if (answer.startsWith('HTTP/1.1 200')) onResponse(connection)
    else onFault(new Error(`answered otherwise than with 200:\n${answer.slice(0, 600)}`))
    return true
  }
}

function hangUp(socket: Socket): void {
  socket.removeAllListeners('close').destroy()
}

/** Finds the end of a response; no other response follows it, since there is one request at a time. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const head = text.slice(0, end)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  return length ? text.length >= end + 4 + Number(length[1]) : text.endsWith('\r\n0\r\n\r\n')
}

function isLast(answer: string): boolean {
  return /\r\nconnection: *close/i.test(answer)
}
