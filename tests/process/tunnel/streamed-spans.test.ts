/** Spans and transactions of a real SDK for a filtered page. */

import { describe, expect, it } from 'vitest'
import { NODE } from '../../support/node.ts'
import { startProgram } from '../../support/program.ts'
import { eventOf, hasItem, type Received } from '../../support/sentry/received-request.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

type Span = { name: string; is_segment: boolean }

/** Returns the names of the spans in an envelope: of a container, or of a transaction and its spans. */
function namesIn({ items }: Received): string[] {
  return items.flatMap(({ header, payload }): string[] => {
    if (header.type !== 'span' && header.type !== 'transaction') return []
    const json = JSON.parse(String(payload))
    if (header.type === 'span') return json.items.map(({ name }: Span) => name)
    return [json.transaction, ...json.spans.map(({ description }: { description: string }) => description)]
  })
}

describe('An app with @sentry/node', () => {
  it.each(['stream', 'static'])(
    'reports its pages, and no not-found page, health check or signal: %s',
    async (lifecycle) => {
      await using sentry = await startSentry()
      const env = { SENTRY_DSN: sentry.dsn(), FILTERS: 'health-checks' }
      await using tunnel = await startTunnel({ env })
      const app = startProgram('The app', NODE, ['tests/support/sentry/reporting-app.ts'], {
        DSN: sentry.dsn(),
        TUNNEL: `${tunnel.url}/monitoring`,
        TRACE_LIFECYCLE: lifecycle,
      })
      expect(await app.exited).toMatchObject({ code: 0 })

      const traces = sentry.requests.filter((each) => hasItem('span')(each) || hasItem('transaction')(each))
      expect(traces.flatMap(namesIn).sort()).toEqual(['GET /shop', 'query', 'render of GET /shop'])
      for (const { items } of traces)
        for (const { header, payload } of items.filter(({ header }) => header.type === 'span'))
          expect(JSON.parse(String(payload)).items).toHaveLength(Number(header.item_count))
      const events = sentry.requests.filter(hasItem('event')).map(eventOf)
      expect(events.map(({ exception }) => exception.values[0].value)).toEqual(['The basket is empty'])

      await tunnel.stop()
      const report = await sentry.next((each) => String(each.decoded).includes('filtered_events'))
      const filtered = JSON.parse(String(report.items[0]?.payload)).filtered_events
      expect(filtered).toEqual(
        expect.arrayContaining([
          { reason: 'next-noise', category: 'span', quantity: 3 },
          { reason: 'filtered-transaction', category: 'span', quantity: 3 },
          { reason: 'next-noise', category: 'error', quantity: 1 },
        ]),
      )
    },
  )
})
