/** Policies for attachments of which Relay makes an event, and for other spellings of item types. */

import { describe, expect, it } from 'vitest'
import { envelopeOf, type Part } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

const attachment = (type?: string): Part => ({
  header: { type: 'attachment', length: 4, ...(type && { attachment_type: type }) },
  payload: 'MDMP',
})
const event: Part = { header: { type: 'event' }, payload: '{"message":"x"}' }

/** Sends envelopes one by one. Returns what has arrived, as `type attachment_type` of each item, and the responses. */
async function sendAll(env: Record<string, string>, envelopes: Part[][], limits?: string) {
  await using sentry = await startSentry()
  await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), ...env } })
  tunnel.advanceTime(60_000 - (Date.now() % 60_000)) // all in one minute
  if (limits !== undefined) {
    sentry.once({ status: 200, headers: { 'x-sentry-rate-limits': limits } })
    await post(tunnel.url, {
      body: envelopeOf({ dsn: sentry.dsn() }, [{ header: { type: 'session' }, payload: '{}' }]),
    })
  }
  const before = sentry.requests.length
  const statuses: number[] = []
  for (const parts of envelopes)
    statuses.push((await post(tunnel.url, { body: envelopeOf({ dsn: sentry.dsn() }, parts) })).status)
  const arrived = sentry.requests
    .slice(before)
    .map(({ items }) =>
      items
        .filter(({ header }) => header.type !== 'client_report')
        .map(({ header }) => [header.type, header.attachment_type].filter(Boolean).join(' ')),
    )
    .filter(({ length }) => length > 0)
  await tunnel.services.reports.flush()
  const reports = sentry.requests
    .flatMap(({ items }) => items)
    .filter(({ header }) => header.type === 'client_report')
    .map(({ payload }) => JSON.parse(String(payload)))
  const { projects } = await (await tunnel.admin('/projects')).json()
  return { statuses, arrived, reports, projects, metrics: await tunnel.services.metrics.expose() }
}

describe('An attachment that counts as an error', () => {
  const type = 'event.minidump'

  it('counts for quotas', async () => {
    const { arrived, statuses } = await sendAll({ QUOTA: 'error=2/day' }, Array(4).fill([attachment(type)]))
    expect(arrived).toHaveLength(2)
    expect(statuses).toEqual([200, 200, 429, 429])
  })

  it('is held back by a limit on errors, with the other attachments', async () => {
    const parts = [attachment(type), attachment(), attachment('event.breadcrumbs')]
    expect((await sendAll({}, [parts], '60:error:key')).arrived).toEqual([])
  })

  it('passes a limit on attachments, which holds plain ones back', async () => {
    const { arrived } = await sendAll({}, [[attachment(type), attachment()]], '60:attachment:key')
    expect(arrived).toEqual([[`attachment ${type}`]])
  })

  it('is sampled in a storm, and reported as an error', async () => {
    const { arrived, reports } = await sendAll(
      { STORM_LIMIT: '2 enforce' },
      Array(5).fill([attachment(type)]),
    )
    expect(arrived).toHaveLength(2)
    expect(reports[0].filtered_events).toContainEqual({ reason: 'storm', category: 'error', quantity: 3 })
  })

  it('is counted under the category error', async () => {
    const { metrics } = await sendAll({}, [[attachment(type)]])
    expect(metrics).toMatch(/culvert_envelopes_total\{outcome="delivered",.*category="error"\} 1/)
    expect(metrics).toContain('culvert_items_total{type="event_attachment",outcome="delivered"} 1')
  })

  it('beside an event is not a second error', async () => {
    const { arrived } = await sendAll({ QUOTA: 'error=2/day' }, Array(2).fill([event, attachment(type)]))
    expect(arrived).toHaveLength(2)
  })
})

describe('With SCRUB', () => {
  it.each(['event.payload', 'event.breadcrumbs'])(
    'removes %s, which holds fields of an event',
    async (type) => {
      const { arrived, reports } = await sendAll({ SCRUB: 'default' }, [
        [event, attachment(type), attachment()],
      ])
      expect(arrived).toEqual([['event', 'attachment']])
      expect(reports[0].discarded_events ?? reports[0].filtered_events).toContainEqual(
        expect.objectContaining({ reason: 'unscrubbable' }),
      )
    },
  )

  it('scrubs items of otel_span', async () => {
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), SCRUB: 'default' } })
    const span = { header: { type: 'otel_span' }, payload: '{"name":"to jane.doe@mail.example"}' }
    await post(tunnel.url, { body: envelopeOf({ dsn: sentry.dsn() }, [span]) })
    expect(String(sentry.requests[0]?.items[0]?.payload)).toBe('{"name":"to [email]"}')
  })

  const unknown: Part = { header: { type: 'tomorrow' }, payload: 'x' }
  it.each([
    ['off', [['event', 'tomorrow']]],
    ['default drop-attachments', [['event', 'tomorrow']]],
    ['strict', [['event']]],
  ])('of %s treats an unknown type as documented', async (SCRUB, expected) => {
    const { arrived } = await sendAll({ SCRUB }, [[event, unknown]])
    expect(arrived).toEqual(expected)
  })
})

describe('An unknown type', () => {
  it('is counted and named for operators', async () => {
    const unknown = (type: string): Part => ({ header: { type }, payload: 'x' })
    const { projects, metrics } = await sendAll({}, [
      [unknown('a'), unknown('b'), unknown('a')],
      [unknown('a')],
      [event],
    ])
    const last = expect.any(Number)
    expect(projects[0].unknown_types).toHaveLength(2)
    expect(projects[0].unknown_types).toContainEqual({ name: 'a', count: 3, last })
    expect(projects[0].unknown_types).toContainEqual({ name: 'b', count: 1, last })
    expect(metrics).toContain('culvert_items_total{type="other",outcome="delivered"} 4')
  })
})
