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
  let logged: unknown[]

  beforeEach(() => {
    time = DAY
    hits = new RuleHits([RULE], () => time)
    logged = []
  })

  const log = () => hits.logUnmatched({ warn: (fields: unknown) => void logged.push(fields) })

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

  it('tells which rule of the operator has matched nothing for a day, and logs it once', () => {
    time += DAY - 1
    log()
    expect([hits.all(), logged]).toEqual([[{ ...RULE, last_hour: 0 }], []])
    time += 1
    log()
    log()
    expect([hits.all(), logged]).toEqual([[{ ...RULE, last_hour: 0, unmatched: true }], [RULE]])
  })

  it('tells it again a day after a match, which need not remove anything', () => {
    time += DAY
    log()
    hits.match('scrub', 'order')
    expect(hits.all()).toEqual([{ ...RULE, last_hour: 0, last: time }])
    time += DAY
    log()
    expect(logged).toHaveLength(2)
  })

  it('does not tell it of rules that no operator has written', () => {
    hits.note('scrub', '@email', 1)
    time += 2 * DAY
    expect(hits.all()[1]).not.toHaveProperty('unmatched')
  })
})
