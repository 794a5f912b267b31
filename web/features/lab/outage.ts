/** Simulated outage of Sentry, through the admin ports of the tunnels. */

import 'server-only'
import type { SimulatedOutageStatus } from 'contract/inbox'
import { type AdminAccess, fetchAdmin, replicaOrigins } from '../../lib/admin-client.ts'
import { processSingleton } from '../../lib/process-singleton.ts'

const SECONDS = 30
const MAX_AGE_MS = 500

const PATHS = {
  GET: '/inbox/outage',
  POST: `/inbox/outage?seconds=${SECONDS}`,
  DELETE: '/inbox/outage',
}

/** State, or why an outage cannot begin now. */
type OutageAnswer = SimulatedOutageStatus | { detail: string }

/** Begins or ends the outage, on all replicas that share the inbox. Returns `undefined` when no replica responds. */
export function changeOutage(
  access: AdminAccess,
  method: 'POST' | 'DELETE',
): Promise<OutageAnswer | undefined> {
  lastRead().at = 0
  return ask(access, method)
}

/** Returns the state, at most 500 ms old: all visitors of the lab share one request. */
export function readOutage(access: AdminAccess): Promise<OutageAnswer | undefined> {
  const last = lastRead()
  if (Date.now() - last.at > MAX_AGE_MS) Object.assign(last, { at: Date.now(), status: ask(access, 'GET') })
  return last.status
}

type LastRead = { at: number; status: Promise<OutageAnswer | undefined> }

function lastRead(): LastRead {
  return processSingleton('simulated outage', () => ({ at: 0, status: Promise.resolve(undefined) }))
}

async function ask(access: AdminAccess, method: keyof typeof PATHS): Promise<OutageAnswer | undefined> {
  for (const origin of await replicaOrigins(access)) {
    const response = await fetchAdmin(access, origin + PATHS[method], { method }).catch(() => undefined)
    if (response?.ok || response?.status === 409) return (await response.json()) as OutageAnswer
  }
  return undefined
}
