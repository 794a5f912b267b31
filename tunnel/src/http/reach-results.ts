/** Results of reach tests: `POST <tunnel path>/reach` with one word. */

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { REACH_RESULTS, type ReachResult } from 'contract/admin-api'
import { Allowance } from 'contract/allowance'
import { limitedNetworkOf } from 'contract/networks'
import type { OriginSet } from 'contract/origins'
import { Rejection } from 'contract/rejections'
import type { Forwarding } from '../forward/forwarding.ts'
import type { Counters } from '../observe/counters.ts'
import type { Projects } from '../pipeline/projects.ts'
import type { ClientResolver } from './client-address.ts'
import { checkOrigin, corsHeaders } from './origin.ts'
import { readQuery } from './query.ts'

export type ReachDeps = {
  projects: Projects
  counters: Pick<Counters, 'countReach'>
  resolveClient: ClientResolver
  allowedOrigins: OriginSet
  forwarding: Pick<Forwarding, 'upstreams'>
  /** Monotonic clock in milliseconds. */
  clock: () => number
}

const MAX_BYTES = 32
const READ_MS = 2_000
const LIMITS = { perAddress: 1, inAll: 20_000, windowMs: 60_000 }
/** Result while Sentry does not respond to the tunnel either: it would say nothing about blockers. */
const WITHOUT_SENTRY: ReachResult = 'inconclusive'

/** Counts results: of each client address one per minute, so that no visitor can falsify the share. */
export class ReachReports {
  readonly #deps: ReachDeps
  readonly #allowance: Allowance

  constructor(deps: ReachDeps) {
    this.#deps = deps
    this.#allowance = new Allowance(LIMITS, deps.clock)
  }

  /** Counts a known result, and ignores all others. */
  async respond(incoming: IncomingMessage): Promise<Response> {
    const { projects, counters, forwarding, resolveClient, allowedOrigins } = this.#deps
    const origin = checkOrigin(incoming.headers, allowedOrigins)
    const project = projects.find(readQuery(incoming.url ?? ''))
    if (!project) throw new Rejection('project-unknown')
    const isShort = Number(incoming.headers['content-length']) <= MAX_BYTES
    const isAllowed = isShort && this.#allowance.take(limitedNetworkOf(resolveClient(incoming).address))
    const text = isAllowed ? await readText(incoming) : ''
    const result = REACH_RESULTS.find((known) => known === text)
    if (result)
      counters.countReach(
        forwarding.upstreams.isResponding(project.origin) ? result : WITHOUT_SENTRY,
        project.name,
      )
    return new Response(null, { status: 204, headers: corsHeaders(origin) })
  }
}

/** Reads a body whose length was checked. Returns an empty text when it does not arrive in time. */
async function readText(incoming: IncomingMessage): Promise<string> {
  let text = ''
  incoming.on('data', (chunk) => {
    text += String(chunk)
  })
  return once(incoming, 'end', { signal: AbortSignal.timeout(READ_MS) }).then(
    () => text,
    () => '',
  )
}
