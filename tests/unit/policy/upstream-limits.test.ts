/** Rate limits that Sentry announced, per DSN, until they end. */

import { beforeEach, describe, expect, it } from 'vitest'
import { parseDsn } from '../../../tunnel/src/envelope/dsn.ts'
import { UpstreamLimits } from '../../../tunnel/src/policy/upstream-limits.ts'
import { createProjects, type Project } from '../../../tunnel/src/projects.ts'
import { envelopeWith, typesOf } from '../../support/read-envelope.ts'

const DSNS = ['https://a@sentry.example/1', 'https://b@sentry.example/1', 'https://a@sentry.example/2']

describe('A limit', () => {
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

  it('holds nothing back before Sentry asks', () => {
    expect(held(['event', 'session'])).toEqual([])
    expect(limits.inForce()).toEqual([])
  })

  it('holds back its categories, dependants with them, and nothing else', () => {
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
  ])('on %s, of %j, holds back %j', (category, types, expected) => {
    learn(`60:${category}:key`)
    expect(held(types)).toEqual(expected)
  })

  it('on everything leaves client reports and unknown items alone, as Relay does', () => {
    learn('60::key')
    expect(held(['event', 'session', 'client_report', 'nel', 'invented'])).toEqual(['event', 'session'])
  })

  it('comes with any status', () => {
    learn('60:error:key', 200)
    expect(held(['event'])).toEqual(['event'])
  })

  it('ends when it has run out, and is forgotten', () => {
    learn('60:error:key')
    now += 59_999
    expect(held(['event'])).toEqual(['event'])
    now += 1
    expect(held(['event'])).toEqual([])
    expect(limits.inForce()).toEqual([])
  })

  it('gives way to a longer one, and not to a shorter one', () => {
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

  it('on everything outlasts a shorter one on a category', () => {
    learn('60::key')
    learn('5:error:key')
    now += 10_000
    expect(held(['event', 'session'])).toEqual(['event', 'session'])
  })

  it('is of one DSN: neither another project nor another key of the same one feels it', () => {
    learn('60:error:key')
    expect(held(['event'], 0)).toEqual(['event'])
    expect(held(['event'], 1)).toEqual([])
    expect(held(['event'], 2)).toEqual([])
  })

  it('is learned from a bare 429 for a minute, for everything', () => {
    learn(undefined)
    now += 59_999
    expect(held(['event', 'log'])).toEqual(['event', 'log'])
    now += 1
    expect(held(['event', 'log'])).toEqual([])
  })

  it('of categories nobody knows leaves nothing behind', () => {
    for (let i = 0; i < 1000; i++) learn(`60:invented${i}:key`)
    expect(limits.inForce()).toEqual([])
  })

  it('is told to the sender by category, with what is left of it', () => {
    learn('60:error:key, 60:session:key, 90:transaction:key')
    now += 10_500
    expect(remaining(['event', 'session', 'transaction'])).toEqual([
      { seconds: 50, categories: ['error', 'session'] },
      { seconds: 80, categories: ['transaction'] },
    ])
  })

  it('on everything is told as the categories at hand, never as all', () => {
    learn('60::key')
    expect(remaining(['event', 'log'])).toEqual([
      { seconds: 60, categories: ['error', 'log_item', 'log_byte'] },
    ])
  })

  it('is shown with its project, its category and its end', () => {
    learn('60:error:key')
    learn('30::key', 429, 2)
    expect(limits.inForce()).toEqual([
      { project: 'sentry.example/1', category: 'error', until: now + 60_000 },
      { project: 'sentry.example/2', category: 'all', until: now + 30_000 },
    ])
  })

  it('of a parent is not told as one of its dependants', () => {
    learn('60:error:key')
    expect(remaining(['event', 'attachment'])).toEqual([{ seconds: 60, categories: ['error'] }])
  })
})
