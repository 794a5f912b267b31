/** Limits of quotas, as operators write them. */

import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../../tunnel/src/config/config.ts'
import { limitsOf, parseQuota } from '../../../../tunnel/src/policy/quota/settings.ts'

describe('parseQuota', () => {
  it('reads limits by category and by project, separated by commas or white space', () => {
    expect(parseQuota('error=50000/day, replay=500/hour\n456:error=1000/day observe')).toEqual({
      limits: {
        day: [
          { category: 'error', limit: 50_000 },
          { category: 'error', limit: 1_000, project: '456' },
        ],
        hour: [{ category: 'replay', limit: 500 }],
      },
      mode: 'observe',
      problems: [],
    })
  })

  it.each([
    ['error=1/day,eror=2/day', { line: 1, column: 13, text: 'eror=2/day' }, 'names no data category'],
    ['error=1/day\n  replay:5', { line: 2, column: 3, text: 'replay:5' }, 'is not a quota'],
    ['error=0/day', { line: 1, column: 1, text: 'error=0/day' }, 'is not between 1 and'],
    ['error=9999999999999/day', { line: 1, column: 1 }, 'is not between 1 and'],
    ['error=-1/day', { line: 1, column: 1 }, 'is not a quota'],
    ['error=1', { line: 1, column: 1 }, 'is not a quota'],
    ['error=1/day,error=1/hour,error=2/day', { line: 1, column: 26 }, 'second quota'],
    ['all=5/day', { line: 1, column: 1 }, 'names no data category'],
  ])('locates the problem of %j', (given, place, message) => {
    const { problems } = parseQuota(given)
    expect(problems).toMatchObject([{ ...place, message: expect.stringContaining(message) }])
  })

  it('reports every problem', () => {
    expect(parseQuota('a=1/day,b,error=1/day').problems).toHaveLength(2)
  })
})

describe('limitsOf', () => {
  it('prefers the limit of a project to that of all', () => {
    const { limits } = parseQuota('456:error=1/day,error=2/day,replay=3/day')
    expect(limitsOf(limits.day, 'sentry.example/456')).toEqual(
      new Map([
        ['error', 1],
        ['replay', 3],
      ]),
    )
    expect(limitsOf(limits.day, 'sentry.example/1456')).toEqual(
      new Map([
        ['error', 2],
        ['replay', 3],
      ]),
    )
  })
})

it('a wrong quota is refused at start, with its position', () => {
  expect(() => readConfig({ QUOTA: 'error=1/day,eror=2/hour x' })).toThrow(
    /QUOTA: "eror=2\/hour" \(line 1, column 13\) names no data category.*\nQUOTA: "x" \(line 1, column 25\)/,
  )
})

describe('a quota of a project', () => {
  const DSN = 'https://a@sentry.example/456'

  it('that is not in SENTRY_DSN is refused at start, with its position', () => {
    expect(() => readConfig({ SENTRY_DSN: DSN, QUOTA: 'error=1/hour,45:error=2/hour' })).toThrow(
      /QUOTA: "45:error=2\/hour" \(line 1, column 14\) names a project that is not in SENTRY_DSN/,
    )
  })

  it('is accepted if SENTRY_DSN has it or is not set', () => {
    const limits = [{ category: 'error', limit: 2, project: '456' }]
    const QUOTA = '456:error=2/day'
    expect(readConfig({ SENTRY_DSN: DSN, QUOTA }).quota.limits.day).toEqual(limits)
    expect(readConfig({ QUOTA }).quota.limits.day).toEqual(limits)
  })
})
