/** Streamed spans of `@sentry/nextjs` 11.1: those that DROP_NEXT_NOISE and `health-checks` remove, and those that they keep. */

import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { Filters } from '../../../../tunnel/src/policy/filters/filters.ts'
import { envelopeOf } from '../../../support/envelopes.ts'
import { type Posting, post } from '../../../support/post.ts'
import { readEnvelope } from '../../../support/read-envelope.ts'
import { captureFor } from '../../../support/sdk-captures.ts'
import { hasItem } from '../../../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../../../support/sentry/sentry.ts'
import { it } from '../../../support/tunnel/fixtures.ts'
import { openTunnel, type Tunnel } from '../../../support/tunnel/in-process.ts'

const DSN = 'https://0123456789abcdef0123456789abcdef@sentry.example/456'

const NEXT_NOISE = { nextNoise: true, on: new Set<string>(), messages: [], releases: [], addresses: [] }

type Span = { span_id: string; attributes: Record<string, { value: unknown }> }

/** Returns the header and the spans of a captured container, each span as text. */
function readSpans(name: string): { header: Record<string, unknown>; spans: string[] } {
  const [header = '', , payload = ''] = captureFor(DSN, `next-noise/${name}`).toString().split('\n')
  const { items } = JSON.parse(payload) as { items: Span[] }
  return { header: JSON.parse(header), spans: items.map((span) => JSON.stringify(span)) }
}

/** Builds an envelope with one container of these spans; with `length` in its header if `sized`. */
function envelopeOfSpans(header: object, spans: readonly string[], { sized = false } = {}): Buffer {
  const payload = `{"version":2,"ingest_settings":{"infer_ip":"auto"},"items":[${spans.join(',')}]}`
  const length = sized ? { length: Buffer.byteLength(payload) } : {}
  return envelopeOf({ ...header }, [
    { header: { type: 'span', item_count: spans.length, ...length, x: 'é' }, payload },
    { header: { type: 'session' }, payload: '{"sid":"1"}' },
  ])
}

/** Starts one tunnel for a `describe`, with a project for each case: a filtered segment is remembered for its project. */
function shareTunnel() {
  const started = new AsyncDisposableStack()
  const ids = Array.from({ length: 20 }, (_, n) => String(n + 1))
  let sentry: Sentry
  let tunnel: Tunnel

  beforeAll(async () => {
    sentry = started.use(
      await startSentry({ projects: Object.fromEntries(ids.map((id) => [id, 'a'.repeat(32)])) }),
    )
    tunnel = started.use(await openTunnel({ env: { SENTRY_DSN: ids.map((id) => sentry.dsn(id)).join(' ') } }))
  })

  afterAll(() => started.disposeAsync())

  /** Returns the next unused project. */
  return () => {
    const id = ids.shift()
    if (id === undefined) throw new Error('There are more cases than projects')
    const isOfProject = ({ path }: { path: string }) => path === `/api/${id}/envelope/`
    const dsn = sentry.dsn(id)
    return {
      dsn,
      send: (posting: Posting) => post(tunnel.url, posting),
      next: () => sentry.next(isOfProject),
      requests: () => sentry.requests.filter(isOfProject),
      receipt: () => tunnel.receipt(({ project }) => project?.endsWith(`/${id}`) ?? false),
    }
  }
}

describe('Captures of the Next.js SDK', () => {
  const nextProject = shareTunnel()

  it.for([
    'stream-not-found-server',
    'stream-not-found-pageload',
    'static-not-found-pageload',
    'stream-caught-event',
    'static-caught-event',
    'stream-moved-event',
    'static-moved-event',
  ])('are filtered completely when they are noise: %s', async (name) => {
    const { dsn, send, receipt, requests } = nextProject()
    const { status } = await send({ body: captureFor(dsn, `next-noise/${name}`) })
    expect(status).toBe(200)
    expect(await receipt()).toMatchObject({ outcome: 'filtered', reason: 'next-noise' })
    expect(requests()).toEqual([])
  })

  it.for(['stream-home-server', 'stream-home-pageload', 'static-home-server', 'static-home-pageload'])(
    'are forwarded unmodified when they are of other pages: %s',
    async (name) => {
      const { dsn, send, next } = nextProject()
      const body = captureFor(dsn, `next-noise/${name}`)
      await send({ body })
      expect((await next()).body.equals(body)).toBe(true)
    },
  )
})

describe('A page load without a route', () => {
  const { header, spans } = readSpans('stream-not-found-pageload')
  const { trace: _, ...withoutTrace } = header

  const filter = (texts: string[], envelopeHeader: object = withoutTrace) => {
    const filters = new Filters(NEXT_NOISE)
    const envelope = readEnvelope(envelopeOfSpans(envelopeHeader, texts), filters.reads)
    return filters.filter(envelope, {}, 'project').items.size
  }

  it('is filtered when its trace has no transaction name, as on a prerendered not-found page', () => {
    expect(filter(spans)).toBe(1)
  })

  it('is kept when the server named the trace after a page, as in an app without a route manifest', () => {
    expect(filter(spans, { ...header, trace: { transaction: 'GET /shop' } })).toBe(0)
  })

  it('is kept when another SDK sent it, which has no routes', () => {
    const ofReact = spans.map((span) => span.replace('auto.pageload.nextjs.', 'auto.pageload.react.'))
    expect(filter(ofReact)).toBe(0)
  })
})

describe('A span of a filtered segment', () => {
  it('is filtered when it arrives later in another envelope', async ({ sentry, tunnel }) => {
    const send = (name: string) => post(tunnel.url, { body: captureFor(sentry.dsn(), `next-noise/${name}`) })
    await send('stream-not-found-pageload')
    await send('stream-not-found-paint')
    await expect.poll(() => tunnel.receipts.length).toBe(2)
    expect(tunnel.receipts.map(({ reason }) => reason)).toEqual(['next-noise', 'next-noise'])
    expect(sentry.requests).toEqual([])
  })

  it('is kept when it arrives before its segment', async ({ sentry, tunnel }) => {
    const body = captureFor(sentry.dsn(), 'next-noise/stream-not-found-paint')
    await post(tunnel.url, { body })
    expect((await sentry.next()).body.equals(body)).toBe(true)
  })

  it('is filtered after a transaction, as a span of version 1', () => {
    const filters = new Filters(NEXT_NOISE)
    const [traceId, spanId] = ['0d49dbc8faf24ba1b0a44e2546c915dd', 'b97561332a2b3116']
    const filter = (type: string, payload: object, project = 'project') => {
      const bytes = envelopeOf({ trace: { trace_id: traceId } }, [
        { header: { type }, payload: JSON.stringify(payload) },
      ])
      return [...filters.filter(readEnvelope(bytes, filters.reads), {}, project).items.values()]
    }
    const paint = { trace_id: traceId, span_id: 'a680159b6050d139', segment_id: spanId }
    expect(filter('span', paint)).toEqual([])
    const trace = { trace_id: traceId, span_id: spanId }
    expect(filter('transaction', { transaction: '/404', contexts: { trace } })).toEqual(['next-noise'])
    expect(filter('span', paint)).toEqual(['next-noise'])
    expect(filter('span', { ...paint, segment_id: 'a680159b6050d139' })).toEqual([])
    expect(filter('span', paint, 'another project')).toEqual([])
  })

  it('is kept when 5,000 other traces were filtered after its segment', () => {
    const filters = new Filters(NEXT_NOISE)
    const filter = (trace: number, type: string, payload: object) => {
      const trace_id = trace.toString(16).padStart(32, '0')
      const bytes = envelopeOf({ trace: { trace_id } }, [
        { header: { type }, payload: JSON.stringify({ trace_id, ...payload }) },
      ])
      return filters.filter(readEnvelope(bytes, filters.reads), {}, 'project').items.size
    }
    const segment = { is_segment: true, span_id: 'b97561332a2b3116', data: { transaction: '/404' } }
    const paint = { span_id: 'a680159b6050d139', segment_id: segment.span_id }
    for (let trace = 0; trace < 5001; trace++) filter(trace, 'span', segment)
    expect([0, 1, 5000].map((trace) => filter(trace, 'span', paint))).toEqual([0, 1, 1])
  })
})

describe('A container with some filtered spans', () => {
  const nextProject = shareTunnel()
  const kept = readSpans('stream-home-server')
  const dropped = readSpans('stream-not-found-server').spans
  const mixes: [string, string[]][] = [
    ['first', [...dropped, ...kept.spans]],
    ['last', [...kept.spans, ...dropped]],
    ['between', kept.spans.flatMap((span, index) => [span, dropped[index] ?? ''])],
  ]

  it.for(mixes.flatMap(([place, spans]) => [false, true].map((sized) => ({ place, spans, sized }))))(
    'is forwarded without them and otherwise unmodified: $place, with a length in its header: $sized',
    async ({ spans, sized }) => {
      const { dsn, send, next } = nextProject()
      const header = { ...kept.header, dsn }
      await send({ body: envelopeOfSpans(header, spans, { sized }) })
      const { body } = await next()
      expect(body.toString()).toBe(envelopeOfSpans(header, kept.spans, { sized }).toString())
    },
  )

  it('is forwarded without them when it was compressed', async () => {
    const { dsn, send, next } = nextProject()
    const header = { ...kept.header, dsn }
    const body = gzipSync(envelopeOfSpans(header, [...dropped, ...kept.spans]))
    await send({ body, headers: { 'content-encoding': 'gzip' } })
    const { decoded } = await next()
    expect(decoded.toString()).toBe(envelopeOfSpans(header, kept.spans).toString())
  })

  it('is delivered without them from the spool', async ({ sentry, tunnel }) => {
    const header = { ...kept.header, sent_at: undefined, dsn: sentry.dsn() }
    sentry.once({ status: 503 })
    const { outcome } = await post(tunnel.url, { body: envelopeOfSpans(header, [...dropped, ...kept.spans]) })
    expect(outcome).toBe('spooled')
    await sentry.next()
    const { body } = await sentry.next()
    expect(body.toString()).toBe(envelopeOfSpans(header, kept.spans).toString())
  })

  it('has the filtered spans counted in the receipt and in the client report', async ({ sentry, tunnel }) => {
    const header = { ...kept.header, dsn: sentry.dsn() }
    await post(tunnel.url, { body: envelopeOfSpans(header, [...dropped, ...kept.spans]) })
    const { items } = await tunnel.receipt(() => true)
    expect(items.map(({ type, discard_reason: reason }) => [type, reason])).toEqual([
      ['span', undefined],
      ['session', undefined],
      ['span', 'next-noise'],
    ])
    expect(items[2]?.bytes).toBe(dropped.reduce((sum, span) => sum + Buffer.byteLength(span), 0))
    await tunnel.stop()
    const report = await sentry.next(hasItem('client_report'))
    expect(JSON.parse(String(report.items[0]?.payload)).filtered_events).toEqual([
      { reason: 'next-noise', category: 'span', quantity: dropped.length },
    ])
  })
})

describe('The filter health-checks', () => {
  it.override('settings', () => ({ FILTERS: 'health-checks' }))

  it.for(['stream-healthz-server', 'static-healthz-server'])(
    'filters streamed and static traces: %s',
    async (name, { sentry, tunnel }) => {
      await post(tunnel.url, { body: captureFor(sentry.dsn(), `next-noise/${name}`) })
      expect(await tunnel.receipt(() => true)).toMatchObject({ reason: 'filtered-transaction' })
      await tunnel.stop()
      const report = await sentry.next(hasItem('client_report'))
      const quantities = JSON.parse(String(report.items[0]?.payload)).filtered_events
      expect(quantities).toContainEqual({
        reason: 'filtered-transaction',
        category: 'span',
        quantity: expect.any(Number),
      })
    },
  )
})
