/** Monitor of this process. It polls also while no operator is signed in, so that the overview knows the changes and their times. */

import type { Rejections, ReplicaStatus } from 'contract/admin-api'
import { type AdminAccess, fetchAdmin, replicaOrigins } from '../../lib/admin-client.ts'
import { firstResponse } from '../../lib/first-response.ts'
import { processSingleton } from '../../lib/process-singleton.ts'
import { Monitor } from './monitor/replica-monitor.ts'
import { RejectionHistory } from './rejections/rejections.ts'

const EVERY_MS = 10_000
const FIGURES_WAIT_MS = 3_000 // a tunnel answers within 1 s

export function sharedMonitor(access: AdminAccess): Monitor {
  return processSingleton('monitor', () => {
    const origins = () => replicaOrigins(access)
    return new Monitor({
      origins,
      ask: (origin) => readStatus(access, origin),
      askFigures: async (replicas, path) => {
        const late = AbortSignal.timeout(FIGURES_WAIT_MS)
        const response = await firstResponse(replicas, (origin, signal) =>
          fetchAdmin(access, origin + path, { signal: AbortSignal.any([signal, late]) }),
        )
        if (!response) throw new Error('no response')
        return (await requireOk(response)).json()
      },
      now: Date.now,
    })
  })
}

/** Polls all replicas every 10 s, for as long as web runs. */
export function keepMonitoring(access: AdminAccess): void {
  const poll = () => {
    void sharedMonitor(access).snapshot(EVERY_MS / 2)
    void recordRejections(access)
  }
  poll()
  setInterval(poll, EVERY_MS).unref()
}

export function rejectionHistory(): RejectionHistory {
  return processSingleton('rejections', () => new RejectionHistory())
}

/** Keeps the rejections of replicas that may stop later. */
async function recordRejections(access: AdminAccess): Promise<void> {
  const origins = await replicaOrigins(access).catch(() => [])
  const record = async (origin: string) => {
    const response = await fetchOk(access, `${origin}/rejections`)
    rejectionHistory().add([(await response.json()) as Rejections])
  }
  await Promise.allSettled(origins.map(record))
}

export async function readStatus(access: AdminAccess, origin: string): Promise<ReplicaStatus> {
  return (await fetchOk(access, `${origin}/status`)).json() as Promise<ReplicaStatus>
}

async function fetchOk(access: AdminAccess, url: string): Promise<Response> {
  return requireOk(await fetchAdmin(access, url))
}

/** Rejects with the reason that the replica gives. */
async function requireOk(response: Response): Promise<Response> {
  if (response.ok) return response
  const { detail }: { detail?: unknown } = await response.json().catch(() => ({}))
  throw new Error(typeof detail === 'string' ? detail : `status ${response.status}`)
}
