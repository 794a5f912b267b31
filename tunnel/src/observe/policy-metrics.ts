/** Prometheus metrics of quotas and storms. Replicas report the same use of quotas: take the maximum. */

import type { PolicyMode, QuotaStatus, StormStatus } from 'contract/policies'
import { Counter, Gauge, type Registry } from 'prom-client'

/** Values that are read on each scrape. */
export type PolicyGauges = { quotas: () => QuotaStatus[]; storms: () => StormStatus[] }

const QUOTA_LABELS = ['project', 'category', 'period'] as const

/** Label values are closed sets: configured projects, Sentry's categories. */
export class PolicyMetrics {
  readonly #registry: Registry
  readonly #items: Counter<'policy' | 'mode' | 'project'>

  constructor(registry: Registry, { quotas, storms }: PolicyGauges) {
    this.#registry = registry
    this.#items = new Counter({
      name: 'culvert_policy_items_total',
      help: 'Items that storm protection or a quota removed, or would remove in the mode `observe`.',
      labelNames: ['policy', 'mode', 'project'],
      registers: [registry],
    })
    const ofQuotas = (name: string, help: string, read: (quota: QuotaStatus) => number | undefined) =>
      this.#gauge(`culvert_quota_${name}`, help, QUOTA_LABELS, (gauge) => {
        for (const quota of quotas()) {
          const { project, category, period } = quota
          const value = read(quota)
          if (value !== undefined) gauge.set({ project, category, period }, value)
        }
      })
    ofQuotas('limit', 'Quota of a day or an hour.', ({ limit }) => limit)
    ofQuotas('used', 'Use of a quota by all replicas in the current period.', ({ used }) => used)
    ofQuotas('saved', 'Removed in the current period, or what would have been.', ({ saved }) => saved)
    ofQuotas(
      'ends_timestamp_seconds',
      'Time at which a quota ends at the rate of the last hour; one of errors at 95 %. Absent when that is after its period.',
      ({ ends }) => (ends === undefined ? undefined : ends / 1000),
    )
    this.#gauge(
      'culvert_storms',
      'Kinds of errors that are above `STORM_LIMIT` now.',
      ['project'],
      (gauge) => {
        for (const { project } of storms()) gauge.inc({ project })
      },
    )
  }

  countItems(policy: 'storm' | 'quota', mode: PolicyMode, project: string, count: number): void {
    this.#items.inc({ policy, mode, project }, count)
  }

  #gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    read: (gauge: Gauge<Label>) => void,
  ): void {
    new Gauge({
      ...{ name, help, labelNames, registers: [this.#registry] },
      collect() {
        this.reset()
        read(this)
      },
    })
  }
}
