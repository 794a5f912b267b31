/** Admin port with the responses of a test, for faults that a real tunnel shows only when it is broken or slow. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ReplicaFigures, ReplicaStatus } from '../../../contract/admin-api.ts'

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
    'GET /status': (_, response) => response.end(JSON.stringify({ ...QUIET, replica, ...status })),
    'GET /figures': (_, response) => response.end(JSON.stringify(NO_COUNTS)),
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

const QUIET: Omit<ReplicaStatus, 'replica'> = {
  version: '0.0.0',
  since: 0,
  settings: {},
  dsns: [],
  projects: [],
  in_flight: 0,
  limits: [],
  upstreams: [],
  addresses: 0,
  warnings: [],
  actions: [],
}

const NO_COUNTS: ReplicaFigures = {
  ...{ outcomes: [], items: [], bytes: [], final_outcomes: [], durations: {}, upstream_durations: {} },
  process: { resident_bytes: 1, cpu_seconds: 0, event_loop_p99_seconds: 0 },
}
