/** One kept-alive connection that posts a prebuilt request and waits for the end of its answer. */

import { once } from 'node:events'
import { connect } from 'node:net'

export type Connection = {
  /** Only when the answer to the one before is in. */
  post(request: Buffer): void
  close(): void
}

export type Listener = {
  onAnswer: (connection: Connection) => void
  /** Told of any answer but 200, and of a connection that breaks. */
  onFault: (fault: Error) => void
}

const READ_BYTES = 16 * 1024

/** `onread` hands over one buffer again and again: nothing is allocated for an answer. */
export async function openConnection(port: number, { onAnswer, onFault }: Listener): Promise<Connection> {
  let text = ''
  const socket = connect({
    host: '127.0.0.1',
    port,
    noDelay: true,
    onread: { buffer: Buffer.alloc(READ_BYTES), callback: take },
  })
  const connection: Connection = {
    post: (request) => void socket.write(request),
    close: () => socket.removeAllListeners('close').destroy(),
  }
  await once(socket, 'connect')
  socket.on('error', onFault)
  socket.on('close', () => onFault(new Error('a connection was closed before its answer')))
  return connection

  function take(bytes: number, buffer: Uint8Array): boolean {
    text += (buffer as Buffer).toString('latin1', 0, bytes)
    if (!isWhole(text)) return true
    const answer = text
    text = ''
    if (answer.startsWith('HTTP/1.1 200')) onAnswer(connection)
    else onFault(new Error(`answered otherwise than with 200:\n${answer.slice(0, 600)}`))
    return true
  }
}

/** One request at a time: where an answer ends, nothing follows. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const head = text.slice(0, end)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  return length ? text.length >= end + 4 + Number(length[1]) : text.endsWith('\r\n0\r\n\r\n')
}
