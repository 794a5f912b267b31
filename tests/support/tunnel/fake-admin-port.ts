/** Admin port with the responses of a test, for faults that a real tunnel shows only when it is broken or slow. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ReplicaStatus } from '../../../contract/admin-api.ts'
import { type Figures, MIN_STEP } from '../../../contract/figures.ts'
import { quietStatus } from '../web/figures.ts'

/** Responses by method and path, like `GET /inbox`. */
export type Answers = Record<string, (request: IncomingMessage, response: ServerResponse) => void>

export type FakeTunnel = Awaited<ReturnType<typeof startFakeTunnel>>

/** Starts a server that answers `/status` and `/figures` like a tunnel without envelopes, unless `answers` say otherwise. `await using` stops it. */
export async function startFakeTunnel(
  replica: string,
  answers: Answers = {},
  { port = 0, status = {} }: { port?: number; status?: Partial<ReplicaStatus> } = {},
) {
  const asked: string[] = []
  const all: Answers = {
    'GET /status': (_, response) => response.end(JSON.stringify(quietStatus(replica, status))),
    'GET /figures': (_, response) => response.end(JSON.stringify(noFigures())),
    ...answers,
  }
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    asked.push(`${request.method} ${request.url}`)
    const answer = all[`${request.method} ${path}`]
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  return {
    adminUrl: `http://127.0.0.1:${address.port}`,
    port: address.port,
    /** Method, path and query of each request, in order. */
    asked,
    async [Symbol.asyncDispose](): Promise<void> {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function noFigures(): Figures {
  const to = Date.now()
  const from = Math.floor(to / MIN_STEP - 15) * MIN_STEP
  return { from, to, step: MIN_STEP, points: [], pending_before: 0, replicas: [] }
}
