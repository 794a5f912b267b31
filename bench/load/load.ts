/** Load: prebuilt requests over kept-alive connections, as fast as they are answered or at a fixed rate. */

import { quantile } from '../report/figures.ts'
import { type Connection, openConnection } from './connection.ts'
import type { Request, Requests } from './requests.ts'

export type LoadOptions = {
  port: number
  requests: Requests
  /** How many to post. */
  posts: number
  connections: number
  /** Status of every answer; 200 unless given. */
  wanted?: number
  /** Ends it before all are posted; told how many are answered. */
  until?: (answered: number) => boolean
}

/** Milliseconds of the half, and of 99 in 100, of the answers; and from the first post to the last answer. */
export type Timing = { p50: number; p99: number; took: number; posted: number }

type Post = (connection: Connection, since: number) => void

const PATIENCE = 60 * 1000 // 60 s without an answer is a fault

/** Each connection posts again as soon as it is answered. Rejects at the first answer that is not the one wanted. */
export function postInTurn(options: LoadOptions): Promise<Timing> {
  return drive(options, (connections, post) => {
    const again = (connection: Connection) => post(connection, performance.now())
    for (const connection of connections) again(connection)
    return again
  })
}

/** Posts `rate` a second however long answers take. The time of each counts from when it was due, also while it waits for a connection. */
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
        const connection = idle.shift() // in turn, so that none is closed for being idle
        if (!connection) return
        posted++
        post(connection, due)
      }
    }
  }).finally(() => clearInterval(timer))
}

/** `begin` posts the first ones, and gives what to do with a connection that has been answered. */
async function drive(
  { port, requests, posts, connections, wanted = 200, until = () => false }: LoadOptions,
  begin: (connections: readonly Connection[], post: Post) => (connection: Connection) => void,
): Promise<Timing> {
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  const waits = new Float64Array(posts)
  const since = new Map<Connection, number>()
  let [posted, answered, seen, last] = [0, 0, 0, posts]
  let again: (connection: Connection) => void = () => {}
  const listener = { wanted, onAnswer, onFault: reject }
  const opened = await Promise.all(
    Array.from({ length: Math.min(connections, posts) }, () => openConnection(port, listener)),
  )
  const patience = setInterval(lookForAnswers, PATIENCE)
  const start = performance.now()
  try {
    again = begin(opened, post)
    await over
    return { ...quantiles(waits.subarray(0, answered)), took: performance.now() - start, posted }
  } finally {
    clearInterval(patience)
    for (const connection of opened) connection.close()
  }

  function post(connection: Connection, from: number): void {
    if (posted === last) return
    since.set(connection, from)
    connection.post(requests.all[posted++ % requests.all.length] as Request)
  }

  function lookForAnswers(): void {
    if (answered === seen) reject(new Error(`no answer within ${PATIENCE} ms`))
    seen = answered
  }

  function onAnswer(connection: Connection): void {
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
