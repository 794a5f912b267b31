/** Spool of a simulated outage, with the delivery of its envelopes. */

import type { MemoryBudget } from '../body/memory-budget.ts'
import type { Bodies } from '../body/receive.ts'
import type { UpstreamLimits } from '../policy/upstream-limits.ts'
import type { Projects } from '../projects.ts'
import { Deliverer } from '../spool/delivery.ts'
import type { OnFinalOutcome } from '../spool/final-outcomes.ts'
import { MonitoredSpool } from '../spool/monitored.ts'
import { openSqliteSpool } from '../spool/sqlite/client.ts'
import type { DeliveryUpstreams } from '../spool/upstream-capacity.ts'

export type OutageSpoolDeps = {
  /** File of the spool. */
  file: string
  /** Age in milliseconds at which a pending envelope expires. */
  maxAgeMs: number
  memory: MemoryBudget
  bodies: Bodies
  projects: Projects
  limits: UpstreamLimits
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
  onError: (error: unknown) => void
}

const BOUNDS = { bytes: 64 * 1024 * 1024, addressShare: 0.5, projectShare: 1 }

export class OutageSpool {
  readonly spool: MonitoredSpool
  readonly deliverer: Deliverer
  readonly #onError: OutageSpoolDeps['onError']

  private constructor(spool: MonitoredSpool, deliverer: Deliverer, { onError }: OutageSpoolDeps) {
    this.spool = spool
    this.deliverer = deliverer
    this.#onError = onError
  }

  /** Opens the spool, whose folder exists. `upstreams` gets its envelopes once they are delivered. */
  static async open(deps: OutageSpoolDeps, upstreams: DeliveryUpstreams): Promise<OutageSpool> {
    const store = await openSqliteSpool(deps.file, BOUNDS)
    const spool = new MonitoredSpool({ ...deps, store, onHealthChange: () => {} })
    const deliverer = new Deliverer({
      ...{ ...deps, spool: store, upstreams, random: Math.random },
      onSpoolFault: (error) => spool.noteFault(error),
      onNotice: () => {}, // of the clock, which the spool of Sentry reports
    })
    return new OutageSpool(spool, deliverer, deps)
  }

  deliver(onFinalOutcome: OnFinalOutcome): void {
    this.deliverer.start({ onFinalOutcome, onError: this.#onError, onSettled: () => {} })
  }

  async close(): Promise<void> {
    await this.deliverer.stop()
    await this.spool.close()
  }
}
