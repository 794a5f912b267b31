/** Servers that people run by mistake in place of a tunnel, or in front of one. */

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Takes whatever anyone posts. */
export const startOpenRelay = () =>
  start((request, response) => {
    request.resume().on('end', () => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'access-control-allow-origin': '*' })
        .end('{}')
    })
  })

/** Passes bodies on to the tunnel at `url` after it has read them as text. */
export const startTextProxy = (url: string) =>
  start(async (request, response) => {
    const {
      host,
      connection,
      'content-length': length,
      'transfer-encoding': chunked,
      ...headers
    } = request.headers
    const body = await text(request)
    const answer = await fetch(`${url}${request.url}`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body,
    })
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })

async function start(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose](): Promise<void> {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
