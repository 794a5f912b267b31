/** Generates load: prebuilt requests over keep-alive connections, at the maximum or at a fixed rate. */

import { quantile } from '../report/statistics.ts'
import { type Connection, openConnection } from './connection.ts'
import type { Request, Requests } from './requests.ts'

export type LoadOptions = {
  port: number
  requests: Requests
  posts: number
  connections: number
  /** Returns whether to end before all requests are posted; called with the number of responses. */
  until?: (answered: number) => boolean
}

/** p50 and p99 in ms, and the time from the first request to the last response. */
export type Timing = { p50: number; p99: number; durationMs: number; posted: number }

type Post = (connection: Connection, since: number) => void

const TIMEOUT_MS = 60 * 1000 // without a response

/** Posts on each connection as soon as it has a response. Rejects at the first unexpected response. */
export function postInTurn(options: LoadOptions): Promise<Timing> {
  return drive(options, (connections, post) => {
    const again = (connection: Connection) => post(connection, performance.now())
    for (const connection of connections) again(connection)
    return again
  })
}

/** Posts at a fixed rate. The latency of a request counts from when it was due, also while it waits for a connection. */
export function postSteadily(options: LoadOptions, rate: number): Promise<Timing> {
  let timer: NodeJS.Timeout | undefined
  return drive(options, (connections, post) => {
    const idle = [...connections]
    const start = performance.now()
    let posted = 0
    timer = setInterval(postDue, 1)
    return (connection) => {
      idle.push(connection)
      postDue()
    }

    function postDue(): void {
      for (;;) {
        const due = start + (posted * 1000) / rate
        if (posted === options.posts || due > performance.now()) return
        const connection = idle.shift() // in turn, so that none is closed as idle
        if (!connection) return
        posted++
        post(connection, due)
      }
    }
  }).finally(() => clearInterval(timer))
}

/** Runs a load: `begin` posts the first requests, and returns the function to call for each response. */
async function drive(
  { port, requests, posts, connections, until = () => false }: LoadOptions,
  begin: (connections: readonly Connection[], post: Post) => (connection: Connection) => void,
): Promise<Timing> {
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  const waits = new Float64Array(posts)
  const since = new Map<Connection, number>()
  let [posted, answered, seen, last] = [0, 0, 0, posts]
  let again: (connection: Connection) => void = () => {}
  const listener = { onResponse, onFault: reject }
  const opened = await Promise.all(
    Array.from({ length: Math.min(connections, posts) }, () => openConnection(port, listener)),
  )
  const watchdog = setInterval(checkProgress, TIMEOUT_MS)
  const start = performance.now()
  try {
    again = begin(opened, post)
    await over
    return { ...quantiles(waits.subarray(0, answered)), durationMs: performance.now() - start, posted }
  } finally {
    clearInterval(watchdog)
    for (const connection of opened) connection.close()
  }

  function post(connection: Connection, from: number): void {
    if (posted === last) return
    since.set(connection, from)
    connection.post(requests.all[posted++ % requests.all.length] as Request)
  }

  function checkProgress(): void {
    if (answered === seen) reject(new Error(`no answer within ${TIMEOUT_MS} ms`))
    seen = answered
  }

  function onResponse(connection: Connection): void {
    waits[answered++] = performance.now() - (since.get(connection) ?? 0)
    if (until(answered)) last = posted
    if (answered === last) resolve()
    else again(connection)
  }
}

function quantiles(waits: Float64Array): { p50: number; p99: number } {
  const sorted = waits.toSorted()
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
}
