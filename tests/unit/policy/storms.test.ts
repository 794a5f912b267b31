/** Storm protection as a stage, with a clock of the test. */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import { markEventAttachment } from '../../../tunnel/src/envelope/items.ts'
import { Context } from '../../../tunnel/src/pipeline/pipeline.ts'
import { createProjects } from '../../../tunnel/src/pipeline/projects.ts'
import { type StormSettings, Storms, stormStage } from '../../../tunnel/src/policy/storms.ts'
import { Summariser } from '../../../tunnel/src/store/entry-summary.ts'
import { EVENT_ID, envelopeOf, type Part } from '../../support/envelopes.ts'
import { heldBytes } from '../../support/heap-usage.ts'
import { readEnvelope, typesOf } from '../../support/read-envelope.ts'

const MINUTE = 60_000
const DSNS = ['https://a@sentry.example/1', 'https://a@sentry.example/2']
const REQUEST = new IncomingMessage(new Socket())
const { all: projects } = createProjects(DSNS.flatMap((dsn) => parseDsn(dsn) ?? []))

describe('Storm protection', () => {
  let time: number
  let storms: Storms
  let observed: string[]

  const set = (settings: Partial<StormSettings>) => {
    observed = []
    const onRemoved = (mode: string, project: string, count: number) =>
      observed.push(`${mode} ${project} ${count}`)
    const deps = { now: () => time, onRemoved, scrub: (title: string) => title.replace('jane', '[name]') }
    storms = new Storms({ limit: 100, mode: 'enforce', ...settings }, deps)
  }

  beforeEach(() => {
    time = 1_000 * MINUTE
    set({})
  })

  /** Runs the stage on an error with an attachment and a session, and returns the types of the items that are left. */
  function send(message: string, project = 0, type = 'TypeError'): string[] {
    const payload = JSON.stringify({ exception: { values: [{ type, value: message }] } })
    const body = envelopeOf({ event_id: EVENT_ID }, [
      { header: { type: 'event' }, payload },
      { header: { type: 'attachment', length: 1 }, payload: 'a' },
      { header: { type: 'session' }, payload: '{}' },
    ])
    const client = { address: undefined, requestId: '', isRetry: false }
    const receipt = { id: '', time: 0, items: [], bytes: 0, replica: '' }
    const ctx = new Context(REQUEST, client, 0, receipt)
    ctx.envelope = readEnvelope(body, (type) => storms.reads(type))
    ctx.project = projects[project] ?? ctx.project
    if (stormStage(storms)(ctx) !== undefined) throw new Error('The stage has ended the request')
    if (new Set(ctx.removed.values()).size > 1) throw new Error('The stage has given several reasons')
    return typesOf(ctx.remaining().items)
  }

  /** Returns the number of events that pass. */
  const sendMany = (count: number, message: string | ((n: number) => string) = 'a', project = 0) =>
    Array.from({ length: count }, (_, n) =>
      send(typeof message === 'string' ? message : message(n), project),
    ).filter((types) => types.includes('event')).length

  it('passes as many identical errors a minute as the limit, and then one in 100', () => {
    expect(sendMany(100)).toBe(100)
    expect(sendMany(99)).toBe(0)
    expect(sendMany(1)).toBe(1)
    expect(sendMany(1_000)).toBe(10)
  })

  it('removes the attachments of a removed error, and nothing else', () => {
    sendMany(100)
    expect(send('a')).toEqual(['session'])
  })

  it('passes the limit again in the next minute', () => {
    sendMany(150)
    time += MINUTE
    expect(sendMany(101)).toBe(100)
  })

  it('passes new errors, and those of other projects', () => {
    sendMany(1_000)
    expect(sendMany(50, (n) => 'b'.repeat(n + 1))).toBe(50)
    expect(sendMany(100, 'a', 1)).toBe(100)
  })

  it('lists a storm with the errors seen and sent since it began', () => {
    sendMany(100)
    expect(storms.active()).toEqual([])
    sendMany(200)
    time += MINUTE
    sendMany(200)
    expect(storms.active()).toEqual([
      {
        fingerprint: expect.any(String),
        project: 'sentry.example/1',
        title: 'TypeError',
        since: 1_000 * MINUTE,
        seen: 500,
        sent: 203,
      },
    ])
  })

  it.each<[error: string, part: Part]>([
    ['an exception', { header: { type: 'event' }, payload: '{"exception":{"values":[{"type":"A"}]}}' }],
    ['a fingerprint of the SDK', { header: { type: 'event' }, payload: '{"fingerprint":["a"]}' }],
    ['a message', { header: { type: 'event' }, payload: '{"message":"a 1"}' }],
    ['a crash report', { header: { type: 'attachment', attachment_type: 'event.minidump' }, payload: 'a' }],
  ])('has the group that the inbox lists, of %s', (_, part) => {
    set({ limit: 1 })
    const body = envelopeOf({ event_id: EVENT_ID }, [part])
    const { items } = readEnvelope(body, (type) => storms.reads(type))
    markEventAttachment(items)
    for (const item of [...items, ...items]) storms.isExcess('p', item)
    const summariser = new Summariser()
    summariser.push(body)
    const { group } = summariser.end({ receipt: 'r' })
    expect(storms.active()).toMatchObject([{ fingerprint: group }])
  })

  it('scrubs the title, since a page may choose the type of an error', () => {
    set({ limit: 1 })
    for (let i = 0; i < 2; i++) send('a', 0, 'Error of jane')
    expect(storms.active()).toMatchObject([{ title: 'Error of [name]' }])
  })

  it('ends a storm after a minute with fewer errors than the limit', () => {
    sendMany(200)
    time += MINUTE
    expect(storms.active()).toHaveLength(1)
    sendMany(1)
    time += MINUTE
    sendMany(1)
    expect(storms.active()).toEqual([])
  })

  it('ends a storm of which no error arrives any more', () => {
    sendMany(200)
    time += 2 * MINUTE
    expect(storms.active()).toEqual([])
  })

  it('removes nothing in the mode observe, and counts what it would remove', () => {
    set({ mode: 'observe' })
    expect(sendMany(250)).toBe(250)
    expect(observed).toEqual(Array(149).fill('observe sentry.example/1 1'))
    expect(storms.active()).toMatchObject([{ seen: 250, sent: 101 }])
  })

  it('reads one in ten of more than 1,000 errors of a project a minute, and one in 100 of more than 10,000, in the mode observe', () => {
    set({ mode: 'observe' })
    expect(sendMany(11_000)).toBe(11_000)
    expect(storms.active()).toMatchObject([{ seen: 11_000, sent: 209 }])
    expect(observed).toHaveLength(891 + 900 + 10)
    expect(observed.at(-1)).toBe('observe sentry.example/1 99')
    time += MINUTE
    sendMany(1)
    expect(storms.active()).toMatchObject([{ seen: 11_001, sent: 210 }])
  })

  it('removes nothing with the limit 0', () => {
    set({ limit: 0 })
    expect(sendMany(1_000)).toBe(1_000)
    expect(storms.active()).toEqual([])
  })

  it('passes errors without a group, and those that are not kept or take long to parse', () => {
    set({ limit: 1 })
    const item = { type: 'event', header: { type: 'event' }, range: [0, 0] as [number, number], bytes: 9 }
    const long = Buffer.from(JSON.stringify({ message: 'a', extra: Array(60_000).fill(0) }))
    for (const payload of [[], [Buffer.from('{"a": 1}\n')], [Buffer.from('{"message')], [long]])
      for (let i = 0; i < 5; i++)
        expect(storms.isExcess('p', { ...item, bytes: payload[0]?.length ?? 9, payload })).toBe(false)
  })

  it('scrubs a title before it is cut', () => {
    set({ limit: 1 })
    for (let n = 0; n < 3; n++) send('b', 0, `${'x'.repeat(117)}jane`)
    expect(storms.active()).toMatchObject([{ title: `${'x'.repeat(117)}[na` }])
  })

  it('keeps no payload in memory', () => {
    const before = heldBytes()
    for (let n = 0; n < 20; n++) send(letters(n), 0, `${n} ${'x'.repeat(1024 * 1024)}`)
    expect(heldBytes() - before).toBeLessThan(10 * 1024 * 1024)
  })

  it('goes on with a storm while more different errors arrive than it remembers', () => {
    sendMany(101)
    for (let i = 0; i < 6; i++) {
      sendMany(1_000, (n) => letters(i * 1_000 + n))
      expect(send('a')).toEqual(['session'])
    }
  })

  it('passes the first of each error, whatever the order of arrival', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 300 }), (kinds) => {
        set({ limit: 2 })
        const seen = new Set<number>()
        for (const kind of kinds) {
          const passed = send(letters(kind)).includes('event')
          expect(passed || seen.has(kind)).toBe(true)
          seen.add(kind)
        }
      }),
      { numRuns: 20 },
    )
  })
})

/** Spells a number in letters, since numbers in messages do not count. */
function letters(n: number): string {
  return String(n).replace(/\d/g, (digit) => 'ghijklmnop'[Number(digit)] ?? '')
}
