/** Hits of the rules of policies. */

import { beforeEach, describe, expect, it } from 'vitest'
import { RuleHits } from '../../../tunnel/src/observe/rule-hits.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const RULE = { policy: 'scrub', rule: 'order' } as const

describe('RuleHits', () => {
  let time: number
  let hits: RuleHits

  beforeEach(() => {
    time = DAY
    hits = new RuleHits([RULE], () => time)
  })

  it('adds up the hits of the last hour', () => {
    hits.note('scrub', 'order', 2)
    time += 59 * MINUTE
    hits.note('scrub', 'order', 3)
    hits.note('storm', 'identical errors', 1)
    expect(hits.all()).toEqual([
      { ...RULE, last_hour: 5, last: time },
      { policy: 'storm', rule: 'identical errors', last_hour: 1, last: time },
    ])
    time += MINUTE
    expect(hits.all()[0]).toMatchObject({ last_hour: 3 })
    time += HOUR
    expect(hits.all()[0]).toMatchObject({ last_hour: 0 })
  })

  it('lists a rule of the operator without a hit', () => {
    expect(hits.all()).toEqual([{ ...RULE, last_hour: 0 }])
  })
})
