/** Services that forward envelopes: to Sentry, or without a DSN to the inbox, at once or later from the spool. */

import type { Bodies } from '../envelope/body/bodies.ts'
import type { MemoryBudget } from '../envelope/body/memory-budget.ts'
import type { Projects } from '../pipeline/projects.ts'
import type { Keeping, Spool } from '../pipeline/spool.ts'
import { Deliverer } from './delivery/delivery.ts'
import { LimitSharing } from './limits/limit-sharing.ts'
import type { UpstreamLimits } from './limits/upstream-limits.ts'
import { MonitoredSpool, type SpoolHealth } from './monitored-spool.ts'
import { RefusedEncodings } from './upstream/encodings.ts'
import {
  type BreakerChange,
  type Transport,
  UpstreamClient,
  type UpstreamSettings,
  type Upstreams,
} from './upstream/upstream-client.ts'

export type Forwarding = {
  upstreams: Upstreams
  refusedEncodings: RefusedEncodings
  spool: MonitoredSpool
  /** Share of the spool's bytes that one project may fill. */
  projectShare: number
  deliverer: Deliverer
  limitSharing: LimitSharing
}

/** Settings as the configuration has them. */
type ForwardingSettings = {
  upstream: UpstreamSettings
  /** Age in milliseconds at which an entry expires. */
  spool: { ageMs: number }
  /** Envelopes a second from the spool to one upstream at most. */
  spoolRate: number | undefined
  /** Accepted envelopes that stay; absent: none. */
  keep: { keeping: Keeping } | undefined
}

export type ForwardingDeps = {
  config: ForwardingSettings
  store: Spool
  /** Share of the spool's bytes that one project may fill. */
  projectShare: number
  projects: Projects
  limits: UpstreamLimits
  memory: MemoryBudget
  bodies: Bodies
  /** Monotonic, in milliseconds. */
  clock: () => number
  /** Milliseconds since 1970. */
  now: () => number
  /** Called with messages for the operator. */
  onNotice: (notice: string) => void
  onBreakerChange: (change: BreakerChange) => void
  onHealthChange: (health: SpoolHealth) => void
  /** Opens the connections to an upstream; by default to the server that the DSN names. */
  openTransport?: (() => Transport) | undefined
}

export function createForwarding(deps: ForwardingDeps): Forwarding {
  const { config, projects, store, projectShare, limits, clock, openTransport } = deps
  const spool = new MonitoredSpool(deps)
  const upstreams = new UpstreamClient(
    projects.destinations,
    config.upstream,
    limits,
    clock,
    deps.onBreakerChange,
    openTransport,
  )
  const deliverer = new Deliverer({
    ...deps,
    spool: store,
    upstreams,
    maxAgeMs: config.spool.ageMs,
    maxRate: config.spoolRate,
    random: Math.random,
    keeping: config.keep?.keeping,
    onSpoolFault: (error) => spool.noteFault(error),
  })
  const limitSharing = new LimitSharing({ ...deps, state: store.state })
  const refusedEncodings = new RefusedEncodings(clock)
  return { upstreams, refusedEncodings, spool, projectShare, deliverer, limitSharing }
}
