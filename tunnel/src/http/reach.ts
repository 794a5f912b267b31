/** Results of reach tests: `POST <tunnel path>/reach` with one word. */

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { REACH_RESULTS, type ReachResult } from '../contract.ts'
import type { Forwarding } from '../forwarding.ts'
import type { Throttle } from '../policy/throttle.ts'
import type { Projects } from '../projects.ts'
import { Rejection } from '../rejections.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ClientResolver } from './client-address.ts'
import { checkOrigin, corsHeaders } from './origin.ts'
import { readQuery } from './receive.ts'

export type ReachDeps = {
  projects: Projects
  throttle: Pick<Throttle, 'charge'>
  metrics: Pick<Metrics, 'countReach'>
  resolveClient: ClientResolver
  allowedOrigins: ReadonlySet<string>
  /** Absent in inbox mode. */
  sentry: Pick<Forwarding, 'upstreams'> | undefined
}

const MAX_BYTES = 32
const READ_MS = 2_000
const CLIENT_SHARE = 0.5 // of the limit of a client address, which envelopes may use up

/** Counts a result. Others than the known ones are ignored, and so are those beyond the limit of a client address. */
export async function respondToReach(incoming: IncomingMessage, deps: ReachDeps): Promise<Response> {
  const { projects, throttle, metrics, sentry } = deps
  const origin = checkOrigin(incoming.headers, deps.allowedOrigins)
  const project = projects.find(readQuery(incoming.url ?? ''))
  if (!project) throw new Rejection('project-unknown')
  const { address } = deps.resolveClient(incoming)
  const isAllowed = throttle.charge(address, MAX_BYTES, incoming.headers.host, CLIENT_SHARE) >= 0
  const isShort = Number(incoming.headers['content-length']) <= MAX_BYTES
  const text = isAllowed && isShort ? await readText(incoming) : ''
  const result = REACH_RESULTS.find((known) => known === text)
  if (result && sentry)
    metrics.countReach(resultWhile(sentry.upstreams.isOpen(project.origin), result), project.name)
  return new Response(null, { status: 204, headers: corsHeaders(origin) })
}

/** While Sentry fails for the tunnel too, a browser that does not reach it says nothing about blockers. */
function resultWhile(isFailing: boolean, result: ReachResult): ReachResult {
  return isFailing && result === 'blocked' ? 'inconclusive' : result
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
