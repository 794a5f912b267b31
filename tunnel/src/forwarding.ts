/** The ways an envelope may go to Sentry: at once, or later from the spool. */

import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Memory } from './body/memory-budget.ts'
import type { Bodies } from './body/receive.ts'
import type { Config, SpoolSettings } from './config/config.ts'
import type { Limits } from './policy/upstream-limits.ts'
import type { Projects } from './projects.ts'
import { awaitSpool } from './spool/deferred.ts'
import { createDeliverer, type Deliverer } from './spool/delivery.ts'
import { defaultBound } from './spool/free-space.ts'
import { NatsAway } from './spool/jetstream/unavailable.ts'
import { MonitoredSpool } from './spool/monitored.ts'
import type { Spool, SpoolBounds } from './spool/spool.ts'
import { openSqliteSpool } from './spool/sqlite/client.ts'
import { createUpstreams, type Upstreams } from './upstream/client.ts'

export type WayToSentry = {
  upstreams: Upstreams
  spool: MonitoredSpool
  /** The part of the spool's bytes that one project may fill. */
  projectShare: number
  deliverer: Deliverer
}

export type WayParts = {
  config: Config
  projects: Projects
  limits: Limits
  memory: Memory
  bodies: Bodies
  /** A monotonic clock in milliseconds, and milliseconds since 1970. */
  clock: () => number
  now: () => number
  /** Told what an operator should know. */
  onNotice: (notice: string) => void
}

const ADDRESS_SHARE = 0.05
const PROJECT_SHARE = 0.5

/** Rejects in words when the spool cannot be opened; a NATS server that is away is waited for, and the tunnel works without it. */
export async function openWayToSentry({
  config,
  projects,
  limits,
  memory,
  bodies,
  clock,
  now,
  onNotice,
}: WayParts): Promise<WayToSentry> {
  const projectShare = projects.all.length > 1 ? PROJECT_SHARE : 1
  const open = () => openSpool(config.spool, { addressShare: ADDRESS_SHARE, projectShare }, now, onNotice)
  const store = await open().catch((problem) => {
    if (problem instanceof NatsAway) return awaitSpool({ open, problem, onNotice })
    throw problem
  })
  const spool = new MonitoredSpool({ store, memory, clock, now })
  const upstreams = createUpstreams(projects.all, config.upstream, limits, clock)
  const deliverer = createDeliverer({
    spool: store,
    projects,
    upstreams,
    limits,
    bodies,
    maxAgeMs: config.spool.ageMs,
    now,
    clock,
    random: Math.random,
  })
  return { upstreams, spool, projectShare, deliverer }
}

/** Rejects in words when it cannot be opened. */
async function openSpool(
  { place, bytes, ageMs }: SpoolSettings,
  shares: Omit<SpoolBounds, 'bytes'>,
  now: () => number,
  onNotice: (notice: string) => void,
): Promise<Spool> {
  if ('nats' in place) {
    const { openJetStreamSpool } = await import('./spool/jetstream/store.ts') // one machine's tunnels start sooner without it
    return openJetStreamSpool(place.nats, { ...shares, bytes, ageMs }, now)
  }
  mkdirSync(dirname(place.file), { recursive: true })
  const bound = bytes ?? (await defaultBound(dirname(place.file)))
  return openSqliteSpool(place.file, { ...shares, bytes: bound }, onNotice)
}
