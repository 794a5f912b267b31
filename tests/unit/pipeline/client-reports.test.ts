/** Client reports about envelopes that the tunnel drops. */

import { beforeEach, describe, expect, it } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import { ClientReports } from '../../../tunnel/src/pipeline/client-reports.ts'
import { createProjects, type Project } from '../../../tunnel/src/pipeline/projects.ts'
import { envelopeOf } from '../../support/envelopes.ts'
import { envelopeWith, readEnvelope } from '../../support/read-envelope.ts'

const DSNS = ['https://a:secret@sentry.example/1', 'https://b@sentry.example/2']
const NOW = 1_780_000_000_500

describe('The client report of the tunnel', () => {
  let posted: { project: Project; envelope: Buffer }[]
  let taken: boolean
  let reports: ClientReports

  const [one, two] = createProjects(DSNS.flatMap((text) => parseDsn(text) ?? [])).all as [Project, Project]
  const items = (...types: string[]) => envelopeWith(...types).items

  beforeEach(() => {
    posted = []
    taken = true
    const post = async (project: Project, envelope: Buffer) => {
      posted.push({ project, envelope })
      return taken
    }
    reports = new ClientReports(post, () => NOW)
  })

  /** Returns the payloads of the posted reports, parsed as by the tunnel. */
  const payloads = () =>
    posted.map(({ envelope }) =>
      JSON.parse(Buffer.concat(readEnvelope(envelope).items[0]?.payload ?? []).toString()),
    )

  it('is not sent when no item was discarded', async () => {
    await reports.flush()
    expect(posted).toEqual([])
  })

  it('is an envelope of one item with DSN and timestamp, without secrets', async () => {
    reports.note(one, 'rate_limited_events', 'limited', items('event'))
    await reports.flush()
    const envelope = readEnvelope(posted[0]?.envelope ?? Buffer.alloc(0))
    expect(envelope.header).toEqual({ dsn: 'https://a@sentry.example/1' })
    expect(envelope.items.map(({ type }) => type)).toEqual(['client_report'])
    expect(payloads()).toEqual([
      {
        timestamp: NOW / 1000,
        rate_limited_events: [{ reason: 'limited', category: 'error', quantity: 1 }],
      },
    ])
  })

  it('sums up by list, reason and category', async () => {
    for (let i = 0; i < 500; i++)
      reports.note(one, 'rate_limited_events', 'limited', items('event', 'feedback'))
    reports.note(one, 'rate_limited_events', 'throttled', items('event'))
    reports.note(one, 'filtered_events', 'localhost', items('event', 'transaction'))
    await reports.flush()
    expect(payloads()).toMatchObject([
      {
        rate_limited_events: [
          { reason: 'limited', category: 'error', quantity: 500 },
          { reason: 'limited', category: 'feedback', quantity: 500 },
          { reason: 'throttled', category: 'error', quantity: 1 },
        ],
        filtered_events: [
          { reason: 'localhost', category: 'error', quantity: 1 },
          { reason: 'localhost', category: 'transaction', quantity: 1 },
        ],
      },
    ])
    expect(posted[0]?.envelope.length).toBeLessThan(1024)
  })

  it('counts attachments in bytes, and containers by their entries', async () => {
    const { items: parts } = readEnvelope(
      envelopeOf({}, [
        { header: { type: 'attachment', length: 300 }, payload: Buffer.alloc(300) },
        {
          header: { type: 'log', item_count: 7 },
          payload: JSON.stringify({ items: Array(7).fill({ body: 'x' }) }),
        },
      ]),
    )
    reports.note(one, 'rate_limited_events', 'limited', parts)
    await reports.flush()
    expect(payloads()[0].rate_limited_events).toEqual([
      { reason: 'limited', category: 'attachment', quantity: 300 },
      { reason: 'limited', category: 'attachment_item', quantity: 1 },
      { reason: 'limited', category: 'log_item', quantity: 7 },
      { reason: 'limited', category: 'log_byte', quantity: parts[1]?.bytes },
    ])
  })

  it('does not count items without a category', async () => {
    reports.note(one, 'rate_limited_events', 'throttled', items('client_report', 'invented', 'nel'))
    await reports.flush()
    expect(posted).toEqual([])
  })

  it('is sent to each project separately', async () => {
    reports.note(one, 'filtered_events', 'localhost', items('event'))
    reports.note(two, 'filtered_events', 'localhost', items('feedback'))
    await reports.flush()
    expect(posted.map(({ project }) => project)).toEqual([one, two])
    expect(payloads().map(({ filtered_events }) => filtered_events[0].category)).toEqual([
      'error',
      'feedback',
    ])
  })

  it('counts each discarded item once', async () => {
    reports.note(one, 'filtered_events', 'localhost', items('event'))
    await reports.flush()
    await reports.flush()
    expect(posted).toHaveLength(1)
  })

  it('contains the counts of an earlier report that Sentry did not accept', async () => {
    taken = false
    reports.note(one, 'filtered_events', 'localhost', items('event'))
    await reports.flush()
    taken = true
    reports.note(one, 'filtered_events', 'localhost', items('event'))
    await reports.flush()
    await reports.flush()
    expect(payloads().map(({ filtered_events }) => filtered_events[0].quantity)).toEqual([1, 2])
  })

  it('bounds an item_count by what the bytes of the item can contain', async () => {
    const { items: parts } = readEnvelope(
      envelopeOf({}, [{ header: { type: 'log', item_count: 1e308 }, payload: '{"items":[]}' }]),
    )
    for (let i = 0; i < 2; i++) reports.note(one, 'rate_limited_events', 'limited', parts)
    await reports.flush()
    expect(payloads()[0].rate_limited_events[0].quantity).toBeLessThan(100)
  })
})
