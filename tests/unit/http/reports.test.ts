/** Browser reports through the tunnel: formats, origins, bounds, outcomes, and what Sentry receives. */

import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { type Posting, post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const SHOP = 'https://shop.example'
const HOST = { host: 'shop.example' }
const FRIEND = 'https://friend.example'
const CSP_REPORT = { ...HOST, 'content-type': 'application/csp-report' }
const VISITOR = { 'x-forwarded-for': '203.0.113.7' }
const BATCH = { ...HOST, 'content-type': 'application/reports+json' }

/** As Firefox 153 posts to `report-uri`. */
const LEGACY = {
  'csp-report': {
    'blocked-uri': 'inline',
    'column-number': 46,
    disposition: 'enforce',
    'document-uri': `${SHOP}/cart`,
    'effective-directive': 'script-src-elem',
    'line-number': 1,
    'original-policy': `script-src 'nonce-a' 'report-sample'; report-uri ${SHOP}/monitoring/reports?p=456`,
    referrer: '',
    'script-sample': 'alert(1)',
    'source-file': `${SHOP}/cart`,
    'status-code': 200,
    'violated-directive': 'script-src-elem',
  },
}

/** As Chromium 156 posts to an endpoint of `Reporting-Endpoints`. Firefox 153 does too, indented and with `null` for no referrer. */
function violation(members: object = {}) {
  return {
    age: 1500,
    body: {
      blockedURL: 'inline',
      columnNumber: 39,
      disposition: 'enforce',
      documentURL: `${SHOP}/cart`,
      effectiveDirective: 'script-src-elem',
      lineNumber: 3,
      originalPolicy: "script-src 'self'; report-to csp",
      referrer: '',
      sample: 'alert(1)',
      sourceFile: `${SHOP}/cart`,
      statusCode: 200,
    },
    type: 'csp-violation',
    url: `${SHOP}/cart`,
    user_agent: 'Mozilla/5.0',
    ...members,
  }
}

const networkError = {
  age: 29,
  body: {
    elapsed_time: 18,
    method: 'GET',
    phase: 'application',
    protocol: 'http/1.1',
    referrer: `${SHOP}/`,
    sampling_fraction: 0.5,
    server_ip: '203.0.113.9',
    status_code: 404,
    type: 'http.error',
  },
  type: 'network-error',
  url: `${SHOP}/missing`,
  user_agent: 'Mozilla/5.0',
}

/** Attributes that Relay 013558660a5f writes for `networkError` (tests/integration/test_nel.py), and those of its envelope. */
const RELAY_ATTRIBUTES = {
  'sentry.origin': { type: 'string', value: 'auto.http.browser_report.nel' },
  'sentry.environment': { type: 'string', value: 'staging' },
  'sentry.release': { type: 'string', value: 'shop@1' },
  'browser.report.type': { type: 'string', value: 'network-error' },
  'url.domain': { type: 'string', value: 'shop.example' },
  'url.full': { type: 'string', value: `${SHOP}/missing` },
  'http.request.duration': { type: 'integer', value: 18 },
  'http.request.method': { type: 'string', value: 'GET' },
  'http.request.header.referer': { type: 'string', value: `${SHOP}/` },
  'http.response.status_code': { type: 'integer', value: 404 },
  'network.protocol.name': { type: 'string', value: 'http' },
  'network.protocol.version': { type: 'string', value: '1.1' },
  'server.address': { type: 'string', value: '203.0.113.9' },
  'nel.referrer': { type: 'string', value: `${SHOP}/` },
  'nel.phase': { type: 'string', value: 'application' },
  'nel.sampling_fraction': { type: 'double', value: 0.5 },
  'nel.type': { type: 'string', value: 'http.error' },
}

const reportOf = (type: string, body: object) => ({ age: 0, type, url: `${SHOP}/`, body })

/** Returns outcome and reason of each receipt, sorted. */
function outcomesOf({ receipts }: Tunnel): string[] {
  return receipts.map(({ outcome, reason = '' }) => `${outcome} ${reason}`.trim()).sort()
}

describe('Browser reports', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel
  let seen = 0
  let env: Record<string, string>

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    env = {
      SENTRY_DSN: sentry.dsn(),
      ALLOWED_ORIGINS: FRIEND,
      FILTERS: 'report-intervention',
      SENTRY_RELEASE: 'shop@1',
      SENTRY_ENVIRONMENT: 'staging',
    }
    tunnel = started.use(await openTunnel({ env }))
  })

  afterAll(() => started.disposeAsync())

  beforeEach(() => {
    sentry.answer({})
    seen = sentry.requests.length
  })

  const send = (posting: Posting) => post(tunnel.url, { path: '/monitoring/reports?p=456', ...posting })
  const sendBatch = (reports: unknown, headers = {}, { url } = tunnel) =>
    post(url, {
      path: '/monitoring/reports?p=456',
      headers: { ...BATCH, ...headers },
      body: JSON.stringify(reports),
    })

  /** Returns header, item header and payload of each envelope that Sentry has received in this test. */
  const received = () =>
    sentry.requests.slice(seen).map(({ decoded }) =>
      decoded
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    )

  it('forwards a report of report-uri as an item raw_security, as Relay’s endpoint does', async () => {
    const answered = await send({ headers: CSP_REPORT, body: JSON.stringify(LEGACY) })
    expect(answered.status).toBe(200)
    const [[header, item, payload] = []] = received()
    expect(header).toMatchObject({ dsn: sentry.dsn(), event_id: expect.stringMatching(/^[0-9a-f]{32}$/) })
    expect(item).toMatchObject({
      type: 'raw_security',
      sentry_release: 'shop@1',
      sentry_environment: 'staging',
    })
    expect(payload).toEqual(LEGACY)
    expect(answered.headers['x-culvert-receipt']).toBeDefined()
  })

  it('forwards a violation of the Reporting API in the form of report-uri', async () => {
    await sendBatch([violation()])
    const [[, item, payload] = []] = received()
    expect(item).toMatchObject({ type: 'raw_security' })
    const place = { 'column-number': 39, 'line-number': 3 }
    const policy = { 'original-policy': "script-src 'self'; report-to csp" }
    expect(payload).toEqual({ 'csp-report': { ...LEGACY['csp-report'], ...place, ...policy } })
  })

  it('forwards a violation as Firefox writes it', async () => {
    const body = { ...violation().body, referrer: null }
    await send({ headers: BATCH, body: JSON.stringify([violation({ body })], undefined, 1) })
    const [[, , payload] = []] = received()
    expect(payload['csp-report']).toMatchObject({ 'blocked-uri': 'inline', 'script-sample': 'alert(1)' })
    expect(payload['csp-report']).not.toHaveProperty('referrer')
  })

  it.each(['report-uri', 'report-to'])('forwards a violation as WebKit posts it to %s', async (directive) => {
    const { disposition, 'script-sample': _, ...legacy } = LEGACY['csp-report']
    const form = directive === 'report-uri' ? { 'csp-report': legacy } : { body: violation().body }
    const report = { type: 'csp-violation', url: `${SHOP}/cart`, ...form }
    const headers = { ...CSP_REPORT, origin: 'null', referer: `${SHOP}/cart` }
    expect((await send({ headers, body: JSON.stringify(report) })).status).toBe(200)
    const [[, item, payload] = []] = received()
    expect(item).toMatchObject({ type: 'raw_security' })
    expect(payload['csp-report']).toMatchObject({ 'document-uri': `${SHOP}/cart`, 'blocked-uri': 'inline' })
    expect(payload['csp-report'].disposition).toBe(directive === 'report-uri' ? undefined : disposition)
  })

  it('forwards a network error as a log with the attributes of Relay’s endpoint', async () => {
    const before = Date.now()
    await sendBatch([networkError])
    const [[header, item, payload] = []] = received()
    expect(header).toMatchObject({ event_id: expect.stringMatching(/^[0-9a-f]{32}$/) })
    expect(item).toMatchObject({
      type: 'log',
      item_count: 1,
      content_type: 'application/vnd.sentry.items.log+json',
    })
    const [log] = payload.items
    expect(log).toEqual({
      body: 'The response has the status 404',
      level: 'warn',
      trace_id: '0'.repeat(32),
      timestamp: expect.any(Number),
      attributes: RELAY_ATTRIBUTES,
    })
    expect(log.timestamp * 1000).toBeGreaterThanOrEqual(before - 29 - 1)
    expect(log.timestamp * 1000).toBeLessThanOrEqual(Date.now() - 29 + 1)
  })

  it('forwards a successful request that was sampled as a log of the level info, with doubles for whole fractions', async () => {
    const body = { ...networkError.body, type: 'ok', protocol: 'h2', sampling_fraction: 1 }
    await sendBatch([{ ...networkError, body }])
    const [[, , payload] = []] = received()
    expect(payload.items[0]).toMatchObject({
      level: 'info',
      attributes: {
        'network.protocol.name': { value: 'h2' },
        'nel.sampling_fraction': { type: 'double', value: 1 },
      },
    })
    expect(payload.items[0].attributes).not.toHaveProperty('network.protocol.version')
  })

  it.each<[type: string, body: object, title: string]>([
    ['crash', { reason: 'oom' }, 'The page crashed: oom'],
    ['crash', {}, 'The page crashed'],
    [
      'deprecation',
      { id: 'UnloadHandler', message: 'Unload event listeners are deprecated.', anticipatedRemoval: null },
      'Used a deprecated feature: UnloadHandler. Unload event listeners are deprecated.',
    ],
    [
      'permissions-policy-violation',
      { policyId: 'geolocation', disposition: 'enforce', lineNumber: 3 },
      'Blocked by the permissions policy: geolocation, enforce',
    ],
    [
      'coep',
      { type: 'corp', blockedURL: 'https://cdn.example/a.js', disposition: 'reporting' },
      'Blocked by the embedder policy: corp, https://cdn.example/a.js, reporting',
    ],
    [
      'coop',
      { type: 'navigation-from-response', effectivePolicy: 'same-origin' },
      'Violated the opener policy: navigation-from-response, same-origin',
    ],
    [
      'integrity-violation',
      { blockedURL: 'https://cdn.example/a.js', destination: 'script' },
      'Blocked by the integrity policy: https://cdn.example/a.js, script',
    ],
  ])('forwards a report of type %s with the body %j as an event', async (type, body, title) => {
    await sendBatch([reportOf(type, body), reportOf(type, body)], { 'user-agent': 'Browser/1' })
    const [[, item, event] = [], [, , second] = []] = received()
    expect(item).toMatchObject({ type: 'event' })
    expect(event).toMatchObject({
      level: type === 'crash' ? 'fatal' : 'warning',
      logentry: { formatted: title },
      tags: { report_type: type },
      request: { url: `${SHOP}/`, headers: { 'User-Agent': 'Browser/1' } },
      release: 'shop@1',
      environment: 'staging',
    })
    expect(second.fingerprint).toEqual(event.fingerprint)
    expect(second.event_id).not.toBe(event.event_id)
  })

  it('keeps the body of a report as a context, in which type has another name, without nested values', async () => {
    const nested = { stack: [[['deep']]], more: { a: 1 } }
    await sendBatch([reportOf('coep', { type: 'corp', destination: 'image', ...nested })])
    const [[, , event] = []] = received()
    expect(event.contexts.browser_report).toEqual({
      type: 'browser_report',
      report_type: 'coep',
      violation_type: 'corp',
      destination: 'image',
    })
  })

  it('forwards members with names of Object.prototype unmodified', async () => {
    await sendBatch([violation({ body: { ...violation().body, constructor: 'x' } })])
    await sendBatch([{ ...networkError, body: { ...networkError.body, type: 'constructor' } }])
    const [[, , csp] = [], [, , logs] = []] = received()
    expect(csp['csp-report']).toMatchObject({ constructor: 'x' })
    expect(logs.items[0].body).toBe('constructor')
  })

  it('groups events by their cause', async () => {
    await sendBatch([reportOf('deprecation', { id: 'A' }), reportOf('deprecation', { id: 'B' })])
    const [[, , first] = [], [, , second] = []] = received()
    expect(first.fingerprint).not.toEqual(second.fingerprint)
  })

  it('records one outcome for each report of a batch, and none for the post', async () => {
    const reports = [
      violation(),
      networkError,
      reportOf('intervention', { id: 'HeavyAd' }),
      reportOf('future-type', { id: 'x' }),
      { type: 'crash' },
    ]
    await using own = await openTunnel({ env })
    await post(own.url, { path: '/monitoring/reports', headers: BATCH, body: JSON.stringify(reports) })
    await own.receipt(() => own.receipts.length >= 5)
    expect(outcomesOf(own)).toEqual([
      'delivered',
      'delivered',
      'filtered report-type',
      'filtered report-type',
      'rejected report-malformed',
    ])
    expect(received()).toHaveLength(2)
  })

  it('responds with 200 when each report of a batch is accepted or would be rejected again', async () => {
    const foreign = violation({ url: 'https://evil.example/' })
    expect(await sendBatch([foreign, violation()])).toMatchObject({
      status: 200,
      json: { id: expect.any(String) },
    })
    expect(await sendBatch([foreign, foreign])).toMatchObject({
      status: 200,
      json: { code: 'report-foreign' },
    })
    sentry.answer({ status: 400 })
    expect((await sendBatch([violation()])).status).toBe(200)
    await tunnel.receipt(({ outcome, status }) => outcome === 'declined' && status === 400)
    await tunnel.receipt(({ reason, status }) => reason === 'report-foreign' && status === 403)
  })

  it('responds with 503 when a report of a batch is lost, although others are filtered', async () => {
    await using own = await openTunnel({ env: { ...env, SPOOL_BYTES: String(1024 * 1024) } })
    sentry.answer({ status: 503 })
    const large = reportOf('crash', { reason: 'x'.repeat(60_000) }) // more than an address may have in the spool
    const reports = [reportOf('intervention', { id: 'HeavyAd' }), large]
    const answered = await sendBatch(reports, VISITOR, own)
    expect(answered).toMatchObject({ status: 503, json: { code: 'spool-share' } })
    await own.receipt(() => own.receipts.length >= 2)
    expect(outcomesOf(own)).toEqual(['filtered report-type', 'rejected spool-share'])
  })

  it.each(['/monitoring', '/monitoring/reports?p=456', '/console', '/console/live', '/healthz'])(
    'are filtered when they are about Culvert’s own path %s',
    async (path) => {
      const counted = () => tunnel.receipts.filter(({ reason }) => reason === 'report-own-path').length
      const before = counted()
      await sendBatch([{ ...networkError, url: SHOP + path }])
      await tunnel.receipt(() => counted() > before)
      expect(received()).toEqual([])
    },
  )

  it.each([`${SHOP}/consoles`, `${SHOP}/monitoring-plans`, `${FRIEND}/console`])(
    'are forwarded when they are about %s, which is not Culvert’s',
    async (url) => {
      await sendBatch([{ ...networkError, url }])
      expect(received()).toHaveLength(1)
    },
  )

  it('have the same event IDs when nginx sends the post again, and others in another post', async () => {
    const send = (headers: object) => sendBatch([violation(), networkError], headers)
    const requestId = 'a'.repeat(32)
    await send({ 'x-request-id': requestId })
    await send({ 'x-request-id': requestId, 'x-culvert-retry': '1' })
    await send({ 'x-request-id': 'b'.repeat(32) })
    const ids = received().map(([header]) => header.event_id)
    expect(ids).toHaveLength(6)
    expect(ids.slice(2, 4).sort()).toEqual(ids.slice(0, 2).sort())
    expect(new Set(ids).size).toBe(4)
  })

  it('are each spooled although they are equal', async () => {
    await using own = await openTunnel({ env })
    sentry.answer({ status: 503 })
    await sendBatch(Array(20).fill(networkError), {}, own)
    await own.receipt(() => own.receipts.length >= 20)
    expect(outcomesOf(own)).toEqual(Array.from({ length: 20 }, () => 'spooled'))
  })

  it('are spooled while Sentry is away, and delivered later', async () => {
    await using own = await openTunnel({ env })
    sentry.once({ status: 503 })
    const answered = await sendBatch([violation()], {}, own)
    expect(answered).toMatchObject({ status: 200, outcome: 'spooled', json: { id: expect.any(String) } })
    const { event_id: eventId } = await own.receipt(({ outcome }) => outcome === 'spooled')
    await own.log(({ final_outcome: final }) => final !== undefined)
    expect(received().map(([header]) => header.event_id)).toEqual([eventId, eventId])
  })

  describe('of an origin', () => {
    it.each<[about: string, headers: Record<string, string>, url: string]>([
      ['without Origin', {}, SHOP],
      ['with the Origin null', { origin: 'null', 'sec-fetch-site': 'cross-site' }, SHOP],
      ['of the same origin', { origin: SHOP, 'sec-fetch-site': 'same-origin' }, SHOP],
      ['when Host names the port of https', { host: 'shop.example:443' }, SHOP],
      ['with an Origin when Host names the port of https', { host: 'shop.example:443', origin: SHOP }, SHOP],
      ['of an allowed origin', { origin: FRIEND, 'sec-fetch-site': 'cross-site' }, FRIEND],
      ['about a document without a host, with an Origin', { origin: SHOP }, 'about'],
    ])('are accepted %s', async (_, headers, url) => {
      expect((await sendBatch([violation({ url })], headers)).status).toBe(200)
    })

    it.each<[about: string, headers: Record<string, string>, url: string, reason: string]>([
      ['about another one, without Origin', {}, 'https://evil.example/', 'report-foreign'],
      ['about another one, with Origin', { origin: SHOP }, 'https://evil.example/', 'report-foreign'],
      ['about another port', {}, `${SHOP}:8443/`, 'report-foreign'],
      ['about a document without a host, without Origin', {}, 'about', 'report-origin-missing'],
      ['without a URL', {}, '', 'report-origin-missing'],
      ['from another one', { origin: 'https://evil.example' }, SHOP, 'origin-foreign'],
    ])('are rejected %s', async (_, headers, url, code) => {
      const body = { ...violation().body, documentURL: url }
      const { json } = await sendBatch([violation({ url, body })], headers)
      expect(json).toMatchObject({ code })
      expect(received()).toEqual([])
    })

    it.each(['documentURL', 'document-uri'])('forward the URL that was checked, not %s', async (name) => {
      await sendBatch([violation({ body: { ...violation().body, [name]: 'https://evil.example/' } })])
      const [[, , payload] = []] = received()
      expect(payload['csp-report']).toMatchObject({ 'document-uri': `${SHOP}/cart` })
      expect(JSON.stringify(payload)).not.toContain('evil.example')
    })

    it('forward the URL of report-uri that was checked, not a second one', async () => {
      const report = { ...LEGACY['csp-report'], documentURL: 'https://evil.example/' }
      await send({ headers: CSP_REPORT, body: JSON.stringify({ 'csp-report': report }) })
      const [[, , payload] = []] = received()
      expect(payload).toEqual(LEGACY)
    })

    it('that is allowed get CORS headers, and a preflight response', async () => {
      const { status, headers } = await send({ method: 'OPTIONS', headers: { ...HOST, origin: FRIEND } })
      expect(status).toBe(204)
      expect(headers).toMatchObject({
        'access-control-allow-origin': FRIEND,
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': expect.stringContaining('content-type'),
      })
      const answered = await sendBatch([violation({ url: FRIEND })], { origin: FRIEND })
      expect(answered.headers).toMatchObject({ 'access-control-allow-origin': FRIEND })
    })
  })

  describe('that no browser sends', () => {
    const longer = violation({ body: { ...violation().body, sample: 'x'.repeat(2048) } })
    const valuesOf = (count: number) =>
      JSON.stringify([reportOf('crash', { reason: 'oom', more: Array(count).fill(0) })])
    const long = reportOf('crash', { reason: 'x'.repeat(65_536) })
    const zipped = { ...BATCH, 'content-encoding': 'gzip' }
    const list = (reports: number) => `[${'{},'.repeat(reports - 1)}{}]`
    it.each<[about: string, posting: Posting, status: number, code: string]>([
      ['without a content type', { headers: HOST, body: '{}' }, 415, 'report-content-type'],
      ['that are compressed', { headers: zipped, body: 'x' }, 415, 'encoding-unknown'],
      ['that are empty', { headers: BATCH, body: '' }, 400, 'empty-body'],
      ['that are not UTF-8', { headers: BATCH, body: Buffer.from([0x5b, 0xff]) }, 400, 'report-malformed'],
      ['in an empty batch', { headers: BATCH, body: '[]' }, 400, 'report-malformed'],
      ['that are no objects', { headers: BATCH, body: '[null, 1, "x", []]' }, 200, 'report-malformed'],
      ['in a batch of 101', { headers: BATCH, body: list(101) }, 413, 'reports-too-many'],
      ['in a batch of 10,000', { headers: BATCH, body: list(10_000) }, 413, 'report-too-large'],
      ['with very many values', { headers: BATCH, body: valuesOf(5_000) }, 413, 'report-too-large'],
      ['with a sample of 2 KiB', { headers: BATCH, body: JSON.stringify([longer]) }, 200, 'report-too-large'],
      [
        'of 1 MiB together, without Content-Length',
        { headers: BATCH, body: Readable.from([' '.repeat(1024 * 1024), ' ']) },
        413,
        'report-too-large',
      ],
      ['of more than 64 KiB', { headers: BATCH, body: JSON.stringify([long]) }, 200, 'report-too-large'],
      [
        'with a URL of more than 64 KiB',
        {
          headers: BATCH,
          body: JSON.stringify([{ ...long, url: `${SHOP}/${'x'.repeat(65_536)}`, body: {} }]),
        },
        200,
        'report-too-large',
      ],
      ['of 1 MiB together', { headers: BATCH, body: ' '.repeat(1024 * 1024 + 1) }, 413, 'report-too-large'],
    ])('are rejected %s', async (_, posting, status, code) => {
      const answered = await send(posting)
      expect([answered.status, answered.json]).toMatchObject([status, { code }])
      expect(received()).toEqual([])
    })

    it('are accepted with many values, and as the largest batch', async () => {
      const { status } = await send({ headers: BATCH, body: valuesOf(4_900) })
      const batch = await sendBatch(Array.from({ length: 100 }, () => violation()))
      expect([status, batch.status]).toEqual([200, 200])
      expect(received()).toHaveLength(101)
    })

    it('get the allowed methods for another one', async () => {
      const { status, headers } = await send({ method: 'PUT', headers: BATCH, body: '[]' })
      expect([status, headers.allow]).toEqual([405, 'POST, OPTIONS'])
    })
  })

  it('are held back after a rate limit of Sentry for the category security', async () => {
    await using own = await openTunnel({ env })
    sentry.once({ status: 429, headers: { 'x-sentry-rate-limits': '60:security:key:quota' } })
    expect((await sendBatch([violation()], {}, own)).status).toBe(429)
    await sendBatch([violation()], {}, own)
    await own.receipt(({ outcome, reason }) => outcome === 'rate_limited' && reason === 'limited')
    expect(received()).toHaveLength(1)
  })

  it('are scrubbed with SCRUB=default', async () => {
    await using own = await openTunnel({ env: { ...env, SCRUB: 'default' } })
    await sendBatch([violation({ url: `${SHOP}/cart?mail=jane@mail.example` })], {}, own)
    const [[, item, payload] = []] = received()
    expect(item).toMatchObject({ type: 'raw_security' })
    expect(payload['csp-report']['document-uri']).toMatch(/^https:\/\/shop\.example\/cart/)
    expect(JSON.stringify(payload)).not.toContain('jane@mail.example')
  })

  it('are filtered as FILTERS says', async () => {
    const body = { ...violation().body, blockedURL: 'chrome-extension://abc/a.js' }
    await using own = await openTunnel({ env: { ...env, FILTERS: '-csp-about -csp-blob' } })
    expect((await sendBatch([violation({ body })], {}, own)).status).toBe(200)
    await own.receipt(({ outcome, reason }) => outcome === 'filtered' && reason === 'csp-extensions')
    expect(received()).toEqual([])
  })

  it('are each charged to the client address', async () => {
    await using limited = await openTunnel({ env: { ...env, ADDRESS_RATE: '1' }, clock: () => 0 })
    await sendBatch(Array(9).fill(violation()), VISITOR, limited)
    await limited.receipt(() => limited.receipts.length >= 9)
    expect(outcomesOf(limited)).toEqual([...Array(8).fill('delivered'), 'rate_limited throttled'])
  })

  it.each([
    ['violations', violation()],
    ['deprecations', reportOf('deprecation', { id: 'UnloadHandler' })],
  ])('leave a share of the limit to errors of the same address, after 100 %s', async (_, report) => {
    await using limited = await openTunnel({ env: { ...env, ADDRESS_RATE: '2' }, clock: () => 0 })
    for (let i = 0; i < 2; i++) await sendBatch(Array(50).fill(report), VISITOR, limited)
    await limited.receipt(() => limited.receipts.some(({ outcome }) => outcome === 'rate_limited'))
    const error = await post(limited.url, { headers: VISITOR, body: errorOf(sentry.dsn()) })
    expect(error.status).toBe(200)
  })
})
