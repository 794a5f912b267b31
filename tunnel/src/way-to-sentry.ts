/** The ways an envelope may go to Sentry: at once, or later from the spool. */

import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from './config.ts'
import { createDeliverer, type Deliverer } from './delivery.ts'
import type { Limits } from './limits.ts'
import type { Projects } from './projects.ts'
import { defaultBound } from './spool/free-space.ts'
import { type WatchedSpool, watchHealth } from './spool/health.ts'
import { openSqliteSpool } from './spool/sqlite.ts'
import { createUpstreams, type Upstreams } from './upstream.ts'

export type WayToSentry = { upstreams: Upstreams; spool: WatchedSpool; deliverer: Deliverer }

export type WayParts = {
  config: Config
  projects: Projects
  limits: Limits
  /** A monotonic clock in milliseconds, and milliseconds since 1970. */
  clock: () => number
  now: () => number
  /** Told what an operator should know. */
  onNotice: (notice: string) => void
}

const ADDRESS_SHARE = 0.05
const PROJECT_SHARE = 0.5

/** Rejects in words when the spool cannot be opened. */
export async function openWayToSentry({
  config,
  projects,
  limits,
  clock,
  now,
  onNotice,
}: WayParts): Promise<WayToSentry> {
  const { file, bytes, ageMs } = config.spool
  mkdirSync(dirname(file), { recursive: true })
  const bounds = {
    bytes: bytes ?? (await defaultBound(dirname(file))),
    addressShare: ADDRESS_SHARE,
    projectShare: projects.all.length > 1 ? PROJECT_SHARE : 1,
  }
  const spool = watchHealth(await openSqliteSpool(file, bounds, onNotice), now)
  const upstreams = createUpstreams(projects.all, config.upstream, limits, clock)
  const deliverer = createDeliverer({
    spool,
    projects,
    upstreams,
    limits,
    maxAgeMs: ageMs,
    now,
    clock,
    random: Math.random,
  })
  return { upstreams, spool, deliverer }
}
