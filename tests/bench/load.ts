/** Load: prebuilt requests over kept-alive connections, as fast as they are answered or at a fixed rate. */

import { type Connection, openConnection } from './connection.ts'
import { quantile } from './figures.ts'
import type { Requests } from './requests.ts'

export type LoadOptions = {
  port: number
  requests: Requests
  /** How many to post. */
  posts: number
  connections: number
}

/** Milliseconds of the half, and of 99 in 100, of the answers; and from the first post to the last answer. */
export type Timing = { p50: number; p99: number; took: number }

type Post = (connection: Connection, since: number) => void

const PATIENCE = 60 * 1000 // 60 s without an end is a fault

/** Each connection posts again as soon as it is answered. Rejects at the first answer that is not 200. */
export function postInTurn(options: LoadOptions): Promise<Timing> {
  return drive(options, (connections, post) => {
    const again = (connection: Connection) => post(connection, performance.now())
    for (const connection of connections) again(connection)
    return again
  })
}

/** Posts `rate` a second however long answers take. The time of each counts from when it was due, also while it waits for a connection. */
export function postSteadily(options: LoadOptions, rate: number): Promise<Timing> {
  return drive(options, (connections, post) => {
    const idle = [...connections]
    const start = performance.now()
    let posted = 0
    const timer = setInterval(postDue, 1).unref() // the connections keep the process
    return (connection) => {
      idle.push(connection)
      postDue()
    }

    function postDue(): void {
      for (;;) {
        const due = start + (posted * 1000) / rate
        if (posted === options.posts) clearInterval(timer)
        if (posted === options.posts || due > performance.now()) return
        const connection = idle.shift() // in turn, so that none is closed for being idle
        if (!connection) return
        posted++
        post(connection, due)
      }
    }
  })
}

/** `begin` posts the first ones, and gives what to do with a connection that has been answered. */
async function drive(
  { port, requests, posts, connections }: LoadOptions,
  begin: (connections: readonly Connection[], post: Post) => (connection: Connection) => void,
): Promise<Timing> {
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  const waits = new Float64Array(posts)
  const since = new Map<Connection, number>()
  let [posted, answered] = [0, 0]
  let again: (connection: Connection) => void = () => {}
  const listener = { onAnswer, onFault: reject }
  const opened = await Promise.all(
    Array.from({ length: Math.min(connections, posts) }, () => openConnection(port, listener)),
  )
  const patience = setTimeout(reject, PATIENCE, new Error(`not answered within ${PATIENCE} ms`))
  const start = performance.now()
  try {
    again = begin(opened, post)
    await over
    return { ...quantiles(waits), took: performance.now() - start }
  } finally {
    clearTimeout(patience)
    for (const connection of opened) connection.close()
  }

  function post(connection: Connection, from: number): void {
    if (posted === posts) return
    since.set(connection, from)
    connection.post(requests.all[posted++ % requests.all.length] as Buffer)
  }

  function onAnswer(connection: Connection): void {
    waits[answered++] = performance.now() - (since.get(connection) ?? 0)
    if (answered === posts) resolve()
    else again(connection)
  }
}

function quantiles(waits: Float64Array): { p50: number; p99: number } {
  const sorted = waits.toSorted()
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
}
