/** TCP server that introduces itself as a NATS server of a version that Culvert does not accept. */

import { createServer } from 'node:net'
import { listen } from '../listen.ts'

/** Listens on a free port of 127.0.0.1. `await using` closes it. */
export async function startOldNats(version: string) {
  const info = { server_id: 'old', version, proto: 1, headers: true, max_payload: 1024 * 1024 }
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.write(`INFO ${JSON.stringify(info)}\r\n`)
    socket.on('data', (data) => data.includes('PING') && socket.write('PONG\r\n'))
  })
  const listening = await listen(server)
  return { ...listening, server: `127.0.0.1:${listening.port}` }
}
