/** Use of quotas, and when they end, for operators. */

import type { QuotaPeriod, QuotaStatus } from 'contract/policies'
import { PERIOD_MS, PERIODS, startOf } from './quota-use.ts'
import { endOf, type Quotas } from './quotas.ts'

/** Lists the quotas of these projects. `now` is in milliseconds since 1970. */
export function describeQuotas(quotas: Quotas, projects: readonly string[], now: number): QuotaStatus[] {
  return [...new Set(projects)].flatMap((project) =>
    PERIODS.flatMap((period) =>
      Array.from(quotas.limitsOf(project, period), ([category, limit]) =>
        describeQuota(quotas, { project, category, period, limit }, now),
      ),
    ),
  )
}

type Limit = { project: string; category: string; period: QuotaPeriod; limit: number }

function describeQuota({ counters }: Quotas, { limit, ...key }: Limit, now: number): QuotaStatus {
  const start = startOf(key.period, now)
  const resets = start + PERIOD_MS[key.period]
  const use = counters.read({ ...key, start })
  const hourly = (begin: number) => {
    const { used, saved } = counters.read({ ...key, period: 'hour', start: begin })
    return used + saved
  }
  const hour = startOf('hour', now)
  const shareOfLast = 1 - (now - hour) / PERIOD_MS.hour
  const demand = hourly(hour) + hourly(hour - PERIOD_MS.hour) * shareOfLast // in the last 60 minutes
  const left = endOf(key.category, limit) - use.used
  const ends = left > 0 && demand > 0 ? Math.round(now + (left / demand) * PERIOD_MS.hour) : Infinity
  return { ...key, limit, ...use, resets, ...(ends < resets && { ends }) }
}
