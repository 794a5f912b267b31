/** Envelopes that get 408, 429 or 503, and that their sender keeps. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { attachmentOf, EVENT_ID, envelopeOf, errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { hasItem } from '../../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const MIB = 1024 * 1024

describe('An envelope that neither Sentry nor the spool has taken', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel
  let body: Buffer

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    tunnel = started.use(await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), SPOOL_BYTES: String(MIB) } }))
    body = attachmentOf(sentry.dsn(), Buffer.alloc(2 * MIB))
  })
  beforeEach(() => sentry.away())
  afterAll(() => started.disposeAsync())

  /** Posts it, and returns the response with the outcome in its receipt. */
  async function postTo(path: string) {
    const { status, json, headers } = await post(tunnel.url, { path, body })
    const receipt = tunnel.services.receipts.find(String(headers['x-culvert-receipt']))
    return { status, json, outcome: receipt?.outcome, reason: receipt?.reason }
  }

  /** Returns the reasons in the client reports that Sentry gets when it is back. */
  async function reportedReasons(): Promise<string[]> {
    await sentry.back()
    sentry.requests.length = 0
    await tunnel.services.reports.flush()
    const payloads = sentry.requests.filter(hasItem('client_report')).flatMap(({ items }) => items)
    return payloads.flatMap(({ payload }) =>
      JSON.parse(String(payload)).discarded_events.map(({ reason }: { reason: string }) => reason),
    )
  }

  it.each(['/monitoring?p=456&keep=1', '/monitoring?keep=1', '/monitoring?keep=1&p=456'])(
    'is deferred at %s, since its sender keeps it, and no loss is reported',
    async (path) => {
      expect(await postTo(path)).toMatchObject({
        status: 503,
        json: { code: 'spool-full', reported: false },
        outcome: 'deferred',
        reason: 'spool-full',
      })
      expect(await reportedReasons()).toEqual([])
    },
  )

  it.each(['/monitoring?p=456', '/monitoring?p=456&keep=0', '/monitoring?p=456&xkeep=1'])(
    'is rejected at %s, and Sentry is told of the loss',
    async (path) => {
      expect(await postTo(path)).toMatchObject({
        ...{ status: 503, outcome: 'rejected', reason: 'spool-full' },
        json: { reported: true },
      })
      expect(await reportedReasons()).toEqual(expect.arrayContaining(['queue_overflow']))
    },
  )

  it('is deferred if its body does not arrive in time', async () => {
    await using slow = await openTunnel({
      env: { SENTRY_DSN: sentry.dsn() },
      adjust: (config) => ({ ...config, bodyMs: 1000 }),
    })
    const unending = new Readable({ read() {} })
    unending.push('{')
    const { status, headers } = await post(slow.url, { path: '/monitoring?keep=1', body: unending })
    expect(status).toBe(408)
    expect(slow.services.receipts.find(String(headers['x-culvert-receipt']))?.outcome).toBe('deferred')
  })

  it('is rejected for another reason than 408 or 503, even if its sender keeps it', async () => {
    const { status, headers } = await post(tunnel.url, { path: '/monitoring?keep=1', body: 'no envelope' })
    expect(status).toBe(400)
    expect(tunnel.services.receipts.find(String(headers['x-culvert-receipt']))?.outcome).toBe('rejected')
  })

  it('is rejected for a cause that does not pass, even if its sender keeps it', async () => {
    await using folder = await makeFolder()
    const bodies = join(folder.path, 'bodies')
    await using broken = await openTunnel({
      env: { SENTRY_DSN: sentry.dsn(), BODY_DIR: bodies, MAX_ENVELOPE_BYTES: String(20 * MIB) },
    })
    await rm(bodies, { recursive: true })
    const { json, headers } = await post(broken.url, {
      path: '/monitoring?keep=1',
      body: attachmentOf(sentry.dsn(), Buffer.alloc(17 * MIB)),
    })
    expect(json).toMatchObject({ code: 'tunnel-failed' })
    expect(broken.services.receipts.find(String(headers['x-culvert-receipt']))?.outcome).toBe('rejected')
  })

  it('has its removed items reported once, when its sender does not send it again', async () => {
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_BYTES: String(MIB), FILTERS: 'health-checks' }
    await using filtering = await openTunnel({ env })
    const transaction = JSON.stringify({ type: 'transaction', transaction: 'GET /healthz' })
    const both = envelopeOf({ event_id: EVENT_ID, dsn: sentry.dsn() }, [
      { header: { type: 'transaction' }, payload: transaction },
      { header: { type: 'unknown', length: 2 * MIB }, payload: Buffer.alloc(2 * MIB) },
    ])
    for (const path of ['/monitoring?keep=1', '/monitoring?keep=1', '/monitoring'])
      expect(await post(filtering.url, { path, body: both })).toMatchObject({ status: 503 })
    await sentry.back()
    sentry.requests.length = 0
    await filtering.services.reports.flush()
    const [report] = sentry.requests.flatMap(({ items }) => items)
    expect(JSON.parse(String(report?.payload)).filtered_events).toContainEqual(
      expect.objectContaining({ category: 'transaction', quantity: 1 }),
    )
  })

  it('has its removed items reported once, when the same envelope comes again', async () => {
    await using filtering = await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), FILTERS: 'health-checks' } })
    const transaction = JSON.stringify({ type: 'transaction', transaction: 'GET /healthz' })
    const both = envelopeOf({ event_id: EVENT_ID, dsn: sentry.dsn() }, [
      { header: { type: 'transaction' }, payload: transaction },
      { header: { type: 'unknown' }, payload: 'x' },
    ])
    for (let i = 0; i < 2; i++)
      expect(await post(filtering.url, { body: both })).toMatchObject({ status: 200, outcome: 'spooled' })
    await sentry.back()
    sentry.requests.length = 0
    await filtering.services.reports.flush()
    const reports = sentry.requests.filter(hasItem('client_report')).flatMap(({ items }) => items)
    expect(reports.map(({ payload }) => JSON.parse(String(payload)).filtered_events)).toEqual([
      expect.arrayContaining([expect.objectContaining({ category: 'transaction', quantity: 1 })]),
    ])
  })

  it('reaches Sentry without the query of the tunnel', async () => {
    await sentry.back()
    tunnel.advanceClock(60_000) // the circuit breaker allows a probe
    const { status } = await post(tunnel.url, { path: '/monitoring?p=456&keep=1', body })
    expect(status).toBe(200)
    expect((await sentry.next(hasItem('attachment'))).url).not.toContain('keep')
  })
})

describe('An error that exceeds a rate limit', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let dsn: string

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    dsn = sentry.dsn()
  })
  afterAll(() => started.disposeAsync())

  const KEPT = '/monitoring?p=456&keep=1'
  const FROM = { 'x-forwarded-for': '203.0.113.7' }

  /** Posts errors until one exceeds the limit, and returns its response with its outcome, and the client reports. */
  async function exceed(env: Record<string, string>, path: string) {
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: dsn, ...env } })
    const send = () => post(tunnel.url, { path, headers: FROM, body: errorOf(dsn) })
    await send()
    let answer = await send()
    for (let n = 0; n < 30 && answer.status === 200; n++) answer = await send() // a second may pass between two of them
    const { status, json, headers } = answer
    const { outcome, reason } = tunnel.services.receipts.find(String(headers['x-culvert-receipt'])) ?? {}
    sentry.requests.length = 0
    await tunnel.services.reports.flush()
    return { status, json, outcome, reason, reports: sentry.requests.length }
  }

  const throttled = { status: 429, json: { code: 'throttled' }, reason: 'throttled' }

  it('of a client address is deferred if its sender keeps it, and no loss is reported', async () => {
    expect(await exceed({ ADDRESS_RATE: '1' }, KEPT)).toMatchObject({
      ...throttled,
      ...{ json: { reported: false }, outcome: 'deferred', reports: 0 },
    })
  })

  it('of a client address says that it is not reported, since its body is not parsed', async () => {
    const env = { ADDRESS_RATE: '1' }
    expect(await exceed(env, '/monitoring')).toMatchObject({
      ...throttled,
      ...{ json: { reported: false }, outcome: 'rate_limited', reports: 0 },
    })
  })

  it('of Sentry is not deferred, even if its sender keeps it', async () => {
    sentry.once({ status: 429, headers: { 'x-sentry-rate-limits': '60:error:key' } })
    expect(await exceed({}, KEPT)).toMatchObject({
      ...{ status: 429, json: { code: 'rate-limited' }, reason: 'limited' },
      ...{ outcome: 'rate_limited', reports: 1 },
    })
  })
})
