/** The Sentry of one scene: it takes what comes, answers as the situation has it, and keeps the books of each way. */

import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../tests/support/ports.ts'
import type { Received } from '../../tests/support/sentry/received-request.ts'
import { readCertificate, startSentry } from '../../tests/support/sentry/sentry.ts'
import { reportIdOf } from './peers/report-id.ts'

export type Recorder = Awaited<ReturnType<typeof startRecorder>>

/** How the `nth` request (from 1) of one way is answered. */
export type Manner = (nth: number) => { status: number; delayMs: number }

/** As a Sentry does that is some way off. */
export const WELL: Manner = () => ({ status: 200, delayMs: 150 })

/** As one next door does. */
export const NEARBY: Manner = () => ({ status: 200, delayMs: 20 })

const CLOUD = 'ingest.us.sentry.io'

// A page of another origin may read what Relay lets it read.
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'x-sentry-error,x-sentry-rate-limits,retry-after',
}

/** Starts it as Sentry's cloud, organisation `org` in the US, with a project for each way. */
export async function startRecorder(org: number, projects: readonly string[]) {
  const key = String(org).padStart(32, '0')
  const sentry = await startSentry({
    port: await freePort(),
    tls: readCertificate(),
    projects: Object.fromEntries(projects.map((project) => [project, key])),
  })
  sentry.allowUnexpected() // what comes straight from browsers, or by a rewrite, is not as a tunnel would send it
  const host = `o${org}.${CLOUD}`
  const books = new Map(projects.map((project) => [project, { asked: 0, inHand: 0, taken: [] as string[] }]))
  let [manner, lastArrival] = [WELL, 0]

  sentry.answer(async (received) => {
    const book = bookOf(received)
    const { status, delayMs } = manner(++book.asked)
    const id = reportIdOf(received.decoded.toString('latin1'))
    if (id !== undefined && status === 200) book.taken.push(id)
    lastArrival = performance.now()
    book.inHand++
    await sleep(delayMs, undefined, { ref: false })
    book.inHand--
    return { status, headers: CORS }
  })

  function bookOf({ path }: Received) {
    const project = /\/api\/(\d+)\/envelope\/$/.exec(path)?.[1] ?? ''
    const book = books.get(project)
    if (!book) throw new Error(`the project ${project} is of no way`)
    return book
  }

  const address = `127.0.0.1:${sentry.port}`
  return {
    org,
    host,
    address,
    dsn: (project: string) => sentry.dsn(project, { host }),
    /** What leads processes here. */
    reroute: { [`${host}:443`]: address },
    /** The ids of the reports that it took of a way since the last time. */
    takenOf: (project: string): string[] => books.get(project)?.taken.splice(0) ?? [],
    /** Requests of a way that it has not answered yet. */
    inHandOf: (project: string): number => books.get(project)?.inHand ?? 0,
    /** How long nothing has come. */
    quietMs: () => performance.now() - lastArrival,
    behave(how: Manner): void {
      manner = how
    },
    forget(): void {
      sentry.requests.length = 0
    },
    away: sentry.away,
    back: sentry.back,
    [Symbol.asyncDispose]: sentry[Symbol.asyncDispose],
  }
}
