/** Server in place of a tunnel or of web behind nginx, which records its requests. */

import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type Asked = { method: string; url: string; headers: IncomingHttpHeaders; body: Buffer }

export type Upstream = Awaited<ReturnType<typeof startUpstream>>

/** Starts the server on a free port of 127.0.0.1. It sends its name with status 200 unless `answer` is given. */
export async function startUpstream(name: string, answer?: (asked: Asked, response: ServerResponse) => void) {
  const asked: Asked[] = []
  const listener: RequestListener = async (request, response) => {
    const one = await read(request).catch(() => undefined)
    if (!one) return // the sender has disconnected
    asked.push(one)
    if (answer) answer(one, response)
    else response.end(name)
  }
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    address: `127.0.0.1:${port}`,
    asked,
    server,
    /** Refuses new connections and leaves the existing ones open. */
    refuse,
    /** Refuses new connections and resets existing ones, as the death of a process does. */
    die,
    async [Symbol.asyncDispose](): Promise<void> {
      if (!server.listening) return
      die()
      await once(server, 'close')
    },
  }

  function refuse(): void {
    NetServer.prototype.close.call(server) // `close` of the HTTP server would close idle connections too
  }

  function die(): void {
    refuse()
    server.closeAllConnections()
  }
}

async function read(request: IncomingMessage): Promise<Asked> {
  const { method = '', url = '', headers } = request
  return { method, url, headers, body: await buffer(request) }
}
