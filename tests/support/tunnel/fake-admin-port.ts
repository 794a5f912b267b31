/** Admin port with the responses of a test, for faults that a real tunnel shows only when it is broken or slow. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { ReplicaStatus } from '../../../contract/admin-api.ts'
import { type Figures, MIN_STEP } from '../../../contract/figures.ts'
import { listen } from '../listen.ts'
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
  const listening = await listen(server, port)
  return {
    ...listening,
    adminUrl: `http://127.0.0.1:${listening.port}`,
    /** Method, path and query of each request, in order. */
    asked,
  }
}

function noFigures(): Figures {
  const to = Date.now()
  const from = Math.floor(to / MIN_STEP - 15) * MIN_STEP
  return { from, to, step: MIN_STEP, points: [], pending_before: 0, replicas: [] }
}
