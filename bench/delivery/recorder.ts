/** Sentry of one testbed: records reports, responds as the scenario says, and counts by subject. */

import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../scripts/start/free-port.ts'
import type { Received } from '../../tests/support/sentry/received-request.ts'
import { readCertificate, startSentry } from '../../tests/support/sentry/sentry.ts'
import { reportIdOf } from './peers/report-id.ts'

export type Recorder = Awaited<ReturnType<typeof startRecorder>>

/** Response to the `nth` request (from 1) of one subject. */
export type ResponseRule = (nth: number) => { status: number; delayMs: number }

/** Rule of a Sentry in a distant region. */
export const HEALTHY: ResponseRule = () => ({ status: 200, delayMs: 150 })

/** Rule of a Sentry in the same region. */
export const NEARBY: ResponseRule = () => ({ status: 200, delayMs: 20 })

const CLOUD = 'ingest.us.sentry.io'

// Headers of Relay that pages of another origin may read.
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'x-sentry-error,x-sentry-rate-limits,retry-after',
}

/**
 * Starts a recorder as Sentry's cloud, organisation `org` in the US, with a project for each subject. `identify` returns the id of a
 * report, and `undefined` for an envelope that does not count.
 */
export async function startRecorder(org: number, projects: readonly string[], identify = idOf) {
  const key = String(org).padStart(32, '0')
  const sentry = await startSentry({
    port: await freePort(),
    tls: readCertificate(),
    projects: Object.fromEntries(projects.map((project) => [project, key])),
  })
  sentry.allowUnexpected() // direct and rewritten requests have other headers than those of a tunnel
  const host = `o${org}.${CLOUD}`
  const counters = new Map(
    projects.map((project) => [project, { asked: 0, pending: 0, accepted: [] as string[] }]),
  )
  let [rule, lastArrival] = [HEALTHY, 0]

  sentry.answer(async (received) => {
    const counter = counterOf(received)
    const { status, delayMs } = rule(++counter.asked)
    const id = identify(received)
    if (id !== undefined && status === 200) counter.accepted.push(id)
    lastArrival = performance.now()
    counter.pending++
    await sleep(delayMs, undefined, { ref: false })
    counter.pending--
    return { status, headers: CORS }
  })

  function counterOf({ path }: Received) {
    const project = /\/api\/(\d+)\/envelope\/$/.exec(path)?.[1] ?? ''
    const counter = counters.get(project)
    if (!counter) throw new Error(`the project ${project} belongs to no subject`)
    return counter
  }

  const address = `127.0.0.1:${sentry.port}`
  return {
    org,
    host,
    address,
    dsn: (project: string) => sentry.dsn(project, { host }),
    /** Host and port of Sentry, with the address that processes connect to instead. */
    reroute: { [`${host}:443`]: address },
    /** Returns the ids of the reports of a subject that were accepted since the last call. */
    takeAccepted: (project: string): string[] => counters.get(project)?.accepted.splice(0) ?? [],
    /** Returns the number of pending requests of a subject. */
    pendingOf: (project: string): number => counters.get(project)?.pending ?? 0,
    /** Returns the time since the last request. */
    quietMs: () => performance.now() - lastArrival,
    respondWith(how: ResponseRule): void {
      rule = how
    },
    forget(): void {
      sentry.requests.length = 0
    },
    away: sentry.away,
    back: sentry.back,
    [Symbol.asyncDispose]: sentry[Symbol.asyncDispose],
  }
}

function idOf({ decoded }: Received): string | undefined {
  return reportIdOf(decoded.toString('latin1'))
}
