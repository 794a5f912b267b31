/** Use of quotas as operators see it, and the time at which they end. */

import { describe, expect, it } from 'vitest'
import { describeQuotas } from '../../../../tunnel/src/policy/quota/forecast.ts'
import { DAY, HOUR, NOON, PROJECT, QuotaTest } from './fixtures.ts'

const ERROR = { type: 'event' }
const OTHER = 'sentry.example/2'
const describeAt = (test: QuotaTest, projects = [PROJECT]) => describeQuotas(test.quotas, projects, test.time)

describe('describeQuotas', () => {
  it('lists the quotas of each project', () => {
    const test = new QuotaTest('error=100,2:error=5', { hourly: 'replay=7' })
    const quota = (project: string, category: string, limit: number) => ({
      ...{ project, category, limit, used: 0, saved: 0 },
      ...(category === 'error'
        ? { period: 'day', resets: NOON + 12 * HOUR }
        : { period: 'hour', resets: NOON + HOUR }),
    })
    expect(describeAt(test, [PROJECT, OTHER])).toEqual([
      quota(PROJECT, 'error', 100),
      quota(PROJECT, 'replay', 7),
      quota(OTHER, 'error', 5),
      quota(OTHER, 'replay', 7),
    ])
  })

  it('extrapolates the last 60 minutes to the end of the quota', () => {
    const test = new QuotaTest('session=1000')
    test.sendMany(100, { type: 'session' })
    test.time += HOUR / 2
    expect(describeAt(test)).toMatchObject([{ used: 100, ends: test.time + 9 * HOUR }])
    test.time += HOUR
    expect(describeAt(test)[0]).not.toHaveProperty('ends') // 50 in an hour
  })

  it('ends errors at 95 %, since the rest is reserved for first occurrences', () => {
    const test = new QuotaTest('error=1000')
    test.sendMany(100, ERROR)
    expect(describeAt(test)).toMatchObject([{ used: 100, ends: test.time + 8.5 * HOUR }])
  })

  it('counts what is removed as demand, too', () => {
    const test = new QuotaTest('error=1000')
    test.sendMany(900, ERROR)
    const [quota] = describeAt(test)
    expect(quota?.ends).toBeCloseTo(test.time + ((950 - (quota?.used ?? 0)) / 900) * HOUR, -1)
  })

  it('names no end when the quota is used up, or nothing arrives', () => {
    const test = new QuotaTest('error=10')
    test.isNew = true
    test.sendMany(20, ERROR)
    const [quota] = describeAt(test)
    expect(quota).toMatchObject({ used: 10, saved: 10 })
    expect(quota).not.toHaveProperty('ends')
    test.time += DAY
    expect(describeAt(test)).toMatchObject([{ used: 0, saved: 0 }])
    expect(describeAt(test)[0]).not.toHaveProperty('ends')
  })
})
