/** The one watch of this process: it looks at the replicas whether or not anybody is signed in, so that there is a past to show. */

import type { Rejections, ReplicaStatus } from 'tunnel/contract'
import { ask, type Door, originsOf } from '../../lib/admin-client.ts'
import { held } from '../../lib/process-singleton.ts'
import { createMonitor, type Monitor } from './monitor/replica-monitor.ts'
import { createRejectionHistory, type RejectionHistory } from './rejections/rejection-history.ts'

const EVERY_MS = 10_000

export function monitorOf(door: Door): Monitor {
  return held('watch', () =>
    createMonitor({
      origins: () => originsOf(door),
      ask: async (origin) => {
        const [status, metrics] = await Promise.all([statusOf(door, origin), metricsOf(door, origin)])
        return { status, metrics }
      },
      now: Date.now,
    }),
  )
}

/** One small question to each replica at once and every 10 s, for as long as web runs. */
export function keepMonitoring(door: Door): void {
  const look = () => {
    void monitorOf(door).look(EVERY_MS / 2)
    void noteRefusals(door)
  }
  look()
  setInterval(look, EVERY_MS).unref()
}

/** The one of this process. */
export function rejectionHistory(): RejectionHistory {
  return held('rejections', createRejectionHistory)
}

/** While who refused it is still there to tell. */
async function noteRefusals(door: Door): Promise<void> {
  const origins = await originsOf(door).catch(() => [])
  const tell = async (origin: string) => {
    const response = await askPlainly(door, `${origin}/rejections`)
    rejectionHistory().note([(await response.json()) as Rejections])
  }
  await Promise.allSettled(origins.map(tell))
}

export async function statusOf(door: Door, origin: string): Promise<ReplicaStatus> {
  return (await askPlainly(door, `${origin}/status`)).json() as Promise<ReplicaStatus>
}

async function metricsOf(door: Door, origin: string): Promise<string> {
  return (await askPlainly(door, `${origin}/metrics`)).text()
}

async function askPlainly(door: Door, url: string): Promise<Response> {
  const response = await ask(door, url)
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  return response
}
