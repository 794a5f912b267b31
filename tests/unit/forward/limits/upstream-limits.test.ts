/** Rate limits that Sentry announced, per DSN, until they end. */

import { beforeEach, describe, expect, it } from 'vitest'
import { parseDsn } from '../../../../contract/dsn.ts'
import { UpstreamLimits } from '../../../../tunnel/src/forward/limits/upstream-limits.ts'
import { createProjects, type Project } from '../../../../tunnel/src/pipeline/projects.ts'
import { envelopeWith, typesOf } from '../../../support/read-envelope.ts'

const DSNS = ['https://a@sentry.example/1', 'https://b@sentry.example/1', 'https://a@sentry.example/2']

describe('UpstreamLimits', () => {
  let now: number
  let limits: UpstreamLimits
  let projects: Project[]

  beforeEach(() => {
    now = 1_000_000
    limits = new UpstreamLimits(() => now)
    projects = [...createProjects(DSNS.flatMap((text) => parseDsn(text) ?? [])).all]
  })

  const project = (index = 0) => {
    const found = projects[index]
    if (!found) throw new Error(`there is no project ${index}`)
    return found
  }
  const learn = (rateLimits: string | undefined, status = 429, index = 0) =>
    limits.learn(project(index), { status, rateLimits, retryAfter: undefined })
  const held = (types: string[], index = 0) => typesOf(limits.limit(project(index), envelopeWith(...types)))
  const remaining = (types: string[]) => limits.remaining(project(), envelopeWith(...types).items)

  it('removes nothing before Sentry sends a limit', () => {
    expect(held(['event', 'session'])).toEqual([])
    expect(limits.inForce()).toEqual([])
  })

  it('removes items of the limited category and their dependants only', () => {
    learn('60:error:key')
    expect(held(['event', 'attachment', 'session', 'client_report', 'invented'])).toEqual([
      'event',
      'attachment',
    ])
    expect(held(['session', 'transaction'])).toEqual([])
  })

  it.each([
    ['replay', ['replay_event', 'replay_recording'], ['replay_event', 'replay_recording']],
    ['transaction', ['transaction', 'profile'], ['transaction', 'profile']],
    ['profile', ['transaction', 'profile'], ['profile']],
    ['attachment', ['event', 'attachment'], ['attachment']],
    ['attachment_item', ['event', 'attachment'], ['attachment']],
    ['log_byte', ['log', 'event'], ['log']],
    ['monitor', ['check_in', 'event'], ['check_in']],
    ['feedback', ['user_report', 'event'], ['user_report']],
    ['metric_bucket', ['statsd', 'trace_metric'], ['statsd']],
  ])('removes, for a limit on %s, from %j the items %j', (category, types, expected) => {
    learn(`60:${category}:key`)
    expect(held(types)).toEqual(expected)
  })

  it('does not apply a limit on everything to client reports and unknown items, as Relay', () => {
    learn('60::key')
    expect(held(['event', 'session', 'client_report', 'nel', 'invented'])).toEqual(['event', 'session'])
  })

  it('learns a limit from a response with any status', () => {
    learn('60:error:key', 200)
    expect(held(['event'])).toEqual(['event'])
  })

  it('drops a limit after its time', () => {
    learn('60:error:key')
    now += 59_999
    expect(held(['event'])).toEqual(['event'])
    now += 1
    expect(held(['event'])).toEqual([])
    expect(limits.inForce()).toEqual([])
  })

  it('replaces a limit by a longer one, and keeps it when the new one is shorter', () => {
    learn('60:error:key')
    learn('5:error:key')
    now += 10_000
    expect(held(['event'])).toEqual(['event'])
    learn('120:error:key, 1:error:key')
    now += 119_000
    expect(held(['event'])).toEqual(['event'])
    now += 1_000
    expect(held(['event'])).toEqual([])
  })

  it('keeps a limit on everything when a shorter one on a category follows', () => {
    learn('60::key')
    learn('5:error:key')
    now += 10_000
    expect(held(['event', 'session'])).toEqual(['event', 'session'])
  })

  it('applies a limit only to the DSN that received it, not to other projects or keys', () => {
    learn('60:error:key')
    expect(held(['event'], 0)).toEqual(['event'])
    expect(held(['event'], 1)).toEqual([])
    expect(held(['event'], 2)).toEqual([])
  })

  it('limits everything for 60 s after a 429 without headers', () => {
    learn(undefined)
    now += 59_999
    expect(held(['event', 'log'])).toEqual(['event', 'log'])
    now += 1
    expect(held(['event', 'log'])).toEqual([])
  })

  it('stores nothing for unknown categories', () => {
    for (let i = 0; i < 1000; i++) learn(`60:invented${i}:key`)
    expect(limits.inForce()).toEqual([])
  })

  it('returns the remaining seconds by category for the sender', () => {
    learn('60:error:key, 60:session:key, 90:transaction:key')
    now += 10_500
    expect(remaining(['event', 'session', 'transaction'])).toEqual([
      { seconds: 50, categories: ['error', 'session'] },
      { seconds: 80, categories: ['transaction'] },
    ])
  })

  it('returns a limit on everything as the categories of the items in the envelope', () => {
    learn('60::key')
    expect(remaining(['event', 'log'])).toEqual([
      { seconds: 60, categories: ['error', 'log_item', 'log_byte'] },
    ])
  })

  it('knows a limit of an hour or more without a reason as one on categories that the server does not store', () => {
    learn('86400:transaction;span:organization', 200)
    expect(limits.inForce()).toEqual([
      { project: 'sentry.example/1', category: 'transaction', until: now + 86_400_000, standing: true },
      { project: 'sentry.example/1', category: 'span', until: now + 86_400_000, standing: true },
    ])
    expect(held(['event', 'transaction', 'span'])).toEqual(['transaction', 'span'])
    expect(limits.limitedCategories(project())).toEqual([])
    expect(limits.shared()).toEqual([])
  })

  it.each([
    '86400:error:organization',
    '86400:error;transaction:organization',
    '86400::organization',
    '86400:transaction:organization:usage_exceeded',
    '60:transaction:key',
  ])('takes %s for a quota', (limit) => {
    learn(limit, 200)
    expect(limits.inForce().filter(({ standing }) => standing)).toEqual([])
    expect(limits.limitedCategories(project())).not.toEqual([])
    expect(limits.shared()).not.toEqual([])
  })

  it('keeps a quota on everything visible beside a standing limit', () => {
    learn('60::key, 86400:transaction;span:organization', 429)
    expect(limits.inForce()).toMatchObject([{ category: 'all', until: now + 60_000 }, {}, {}])
    expect(limits.limitedCategories(project())).toContain('error')
    now += 60_000
    expect(limits.limitedCategories(project())).toEqual([])
  })

  it('lists limits in force with project, category and end', () => {
    learn('60:error:key')
    learn('30::key', 429, 2)
    expect(limits.inForce()).toEqual([
      { project: 'sentry.example/1', category: 'error', until: now + 60_000 },
      { project: 'sentry.example/2', category: 'all', until: now + 30_000 },
    ])
  })

  it('returns a limit of an item without the categories of its dependants', () => {
    learn('60:error:key')
    expect(remaining(['event', 'attachment'])).toEqual([{ seconds: 60, categories: ['error'] }])
  })
})
