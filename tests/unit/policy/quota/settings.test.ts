/** Limits of quotas, as operators write them. */

import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../../tunnel/src/config/config.ts'
import { limitsOf, parseQuota } from '../../../../tunnel/src/policy/quota/settings.ts'

describe('parseQuota', () => {
  it('reads limits by category and by project, separated by commas or white space', () => {
    expect(parseQuota('error=50000, replay=500\n456:error=1000')).toEqual({
      limits: [
        { category: 'error', limit: 50_000 },
        { category: 'replay', limit: 500 },
        { category: 'error', limit: 1_000, project: '456' },
      ],
      problems: [],
    })
  })

  it.each([
    ['error=1,eror=2', { line: 1, column: 9, text: 'eror=2' }, 'names no data category'],
    ['error=1\n  replay:5', { line: 2, column: 3, text: 'replay:5' }, 'is not a quota'],
    ['error=0', { line: 1, column: 1, text: 'error=0' }, 'is not between 1 and'],
    ['error=9999999999999', { line: 1, column: 1 }, 'is not between 1 and'],
    ['error=-1', { line: 1, column: 1 }, 'is not a quota'],
    ['error=1,error=2', { line: 1, column: 9 }, 'second quota'],
    ['all=5', { line: 1, column: 1 }, 'names no data category'],
  ])('locates the problem of %j', (given, place, message) => {
    const { problems } = parseQuota(given)
    expect(problems).toMatchObject([{ ...place, message: expect.stringContaining(message) }])
  })

  it('reports every problem', () => {
    expect(parseQuota('a=1,b,error=1').problems).toHaveLength(2)
  })
})

describe('limitsOf', () => {
  it('prefers the limit of a project to that of all', () => {
    const { limits } = parseQuota('456:error=1,error=2,replay=3')
    expect(limitsOf(limits, 'sentry.example/456')).toEqual(
      new Map([
        ['error', 1],
        ['replay', 3],
      ]),
    )
    expect(limitsOf(limits, 'sentry.example/1456')).toEqual(
      new Map([
        ['error', 2],
        ['replay', 3],
      ]),
    )
  })
})

it('a wrong quota is refused at start, with its position', () => {
  expect(() => readConfig({ DAILY_QUOTA: 'error=1,eror=2', HOURLY_QUOTA: 'x' })).toThrow(
    /DAILY_QUOTA: "eror=2" \(line 1, column 9\) names no data category.*\nHOURLY_QUOTA: "x" \(line 1, column 1\)/,
  )
})

describe('a quota of a project', () => {
  const DSN = 'https://a@sentry.example/456'

  it('that is not in SENTRY_DSN is refused at start, with its position', () => {
    expect(() => readConfig({ SENTRY_DSN: DSN, HOURLY_QUOTA: 'error=1,45:error=2' })).toThrow(
      /HOURLY_QUOTA: "45:error=2" \(line 1, column 9\) names a project that is not in SENTRY_DSN/,
    )
  })

  it('is accepted if SENTRY_DSN has it or is not set', () => {
    const limits = [{ category: 'error', limit: 2, project: '456' }]
    const DAILY_QUOTA = '456:error=2'
    expect(readConfig({ SENTRY_DSN: DSN, DAILY_QUOTA }).quota.limits.day).toEqual(limits)
    expect(readConfig({ DAILY_QUOTA }).quota.limits.day).toEqual(limits)
  })
})
