/** Policies of several replicas together. */

import { describe, expect, it } from 'vitest'
import type { PolicyStatus, QuotaStatus, StormStatus } from '../../../../../contract/policies.ts'
import {
  countRules,
  mergePolicies,
  readPolicies,
} from '../../../../../web/features/console/policies/policies.ts'
import { pointAt } from '../../../../support/web/figures.ts'

const storm = (parts: Partial<StormStatus>): StormStatus => ({
  ...{ fingerprint: 'f', project: 'p', title: 'TypeError', since: 10, seen: 100, sent: 10 },
  ...parts,
})
const quota = (parts: Partial<QuotaStatus>): QuotaStatus => ({
  ...{ project: 'p', category: 'error', period: 'day', limit: 100, used: 10, resets: 1_000 },
  ...parts,
})
const withStorms = (storms: StormStatus[]): PolicyStatus => ({
  storm: { limit: 100, mode: 'enforce', storms },
  rules: [],
})
const withQuotas = (quotas: QuotaStatus[]): PolicyStatus => ({
  quota: { mode: 'observe', quotas },
  rules: [],
})

const MINUTE = 60_000

describe('mergePolicies', () => {
  it('adds up the storms of replicas, the largest first', () => {
    const merged = mergePolicies([
      withStorms([storm({}), storm({ fingerprint: 'g', seen: 150 })]),
      withStorms([storm({ since: 5, seen: 200, sent: 1 })]),
    ])
    expect(merged.storm).toEqual({
      limit: 100,
      mode: 'enforce',
      storms: [storm({ since: 5, seen: 300, sent: 11 }), storm({ fingerprint: 'g', seen: 150 })],
    })
  })

  it('takes the latest use of a shared quota, the most used first', () => {
    const merged = mergePolicies([
      withQuotas([quota({ used: 10 }), quota({ category: 'replay', used: 50 })]),
      withQuotas([quota({ used: 12 }), quota({ category: 'replay', used: 1, resets: 2_000 })]),
    ])
    expect(merged.quota?.quotas).toEqual([
      quota({ used: 12 }),
      quota({ category: 'replay', used: 1, resets: 2_000 }),
    ])
  })

  it('leaves out policies that are off', () => {
    expect(mergePolicies([{ rules: [] }])).toEqual({ rules: [] })
  })
})

describe('countRules', () => {
  it('lists written rules without a hit, and adds up the hits of the last hour', () => {
    const written = [
      { policy: 'scrub', rule: '@email:mask' },
      { policy: 'quota', rule: 'error' },
    ] as const
    const points = [
      pointAt(0, { rules: { 'scrub:@email:mask': 9, 'storm:identical errors': 1 } }),
      pointAt(60, { rules: { 'scrub:@email:mask': 2 } }),
      pointAt(70, { rules: { 'scrub:@email:mask': 3 } }),
    ]
    expect(countRules([...written, ...written], { points, to: 90 * MINUTE })).toEqual([
      { policy: 'scrub', rule: '@email:mask', lastHour: 5, last: 70 * MINUTE },
      { policy: 'quota', rule: 'error', lastHour: 0 },
      { policy: 'storm', rule: 'identical errors', lastHour: 0, last: 0 },
    ])
  })
})

describe('readPolicies', () => {
  const replica = { origin: 'http://a', rate: 0, state: 'responding' } as const

  it('returns undefined without a replica that reports policies', () => {
    expect(readPolicies({ replicas: [replica] })).toBeUndefined()
    expect(readPolicies({ replicas: [] })).toBeUndefined()
  })
})
