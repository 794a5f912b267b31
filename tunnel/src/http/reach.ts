/** Results of reach tests: `POST <tunnel path>/reach` with one word. */

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
const CLIENT_SHARE = 0.5 // of the limit of a client address, which envelopes may use up

/** Counts a result. Others than the known ones are ignored, and so are those beyond the limit of a client address. */
export async function respondToReach(incoming: IncomingMessage, deps: ReachDeps): Promise<Response> {
  const { projects, throttle, metrics, sentry } = deps
  const origin = checkOrigin(incoming.headers, deps.allowedOrigins)
  const project = projects.find(readQuery(incoming.url ?? ''))
  if (!project) throw new Rejection('project-unknown')
  const { address } = deps.resolveClient(incoming)
  const isAllowed = throttle.charge(address, MAX_BYTES, incoming.headers.host, CLIENT_SHARE) >= 0
  const text = await readText(incoming).catch(() => '') // the sender has left
  const result = REACH_RESULTS.find((known) => known === text)
  if (isAllowed && result && sentry)
    metrics.countReach(resultWhile(sentry.upstreams.isOpen(project.origin), result), project.name)
  return new Response(null, { status: 204, headers: corsHeaders(origin) })
}

/** While Sentry fails for the tunnel too, a browser that does not reach it says nothing about blockers. */
function resultWhile(isFailing: boolean, result: ReachResult): ReachResult {
  return isFailing && result === 'blocked' ? 'inconclusive' : result
}

/** Reads a short body; returns an empty text for a longer one. */
async function readText(incoming: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of incoming) {
    text += String(chunk)
    if (text.length > MAX_BYTES) return ''
  }
  return text
}
