/** Requests and responses through the tunnel: bodies, headers, paths and CORS. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { derivedPaths, parseDsn } from '../../../contract/dsn.ts'
import { EVENT_ID, errorOf } from '../../support/envelopes.ts'
import { type Posting, post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

type Answer = Parameters<Sentry['once']>[0]

const KEY = '0123456789abcdef0123456789abcdef'
const LIMITED = '789'
const FRIEND = 'https://friend.example'
// DSNs whose derived paths were computed with the SDK's own code.
const VECTORS = {
  'https://public@o1.ingest.us.sentry.io/2': '/7y54ph',
  'https://examplePublicKey@o0.ingest.sentry.io/0': '/r9bok1',
}

describe('The tunnel', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel

  beforeAll(async () => {
    sentry = started.use(await startSentry({ projects: { 456: KEY, [LIMITED]: KEY } }))
    const env = {
      SENTRY_DSN: [sentry.dsn(), sentry.dsn(LIMITED), ...Object.keys(VECTORS)].join(' '),
      TUNNEL_PATHS: '/monitoring|/other/path',
      DERIVED_PATHS: 'on',
      ALLOWED_ORIGINS: FRIEND,
    }
    tunnel = started.use(await openTunnel({ env }))
  })

  afterAll(() => started.disposeAsync())

  const send = (posting: Posting) => post(tunnel.url, { body: errorOf(sentry.dsn()), ...posting })

  /** Returns the most recent request. */
  function last() {
    const received = sentry.requests.at(-1)
    if (!received) throw new Error('nothing has arrived')
    return received
  }

  describe('when Sentry answers', () => {
    it.each<[string, Answer, object]>([
      ['200', {}, { status: 200, text: `{"id":"${EVENT_ID}"}` }],
      [
        '200 with a body of its own',
        { body: { id: 'x', more: 1 } },
        { status: 200, json: { id: 'x', more: 1 } },
      ],
      ['200 with an empty body', { body: '' }, { status: 200, text: '' }],
      ['204', { status: 204, body: '' }, { status: 204, text: '' }],
      ['400', { status: 400, body: { detail: 'bad' } }, { status: 400, json: { detail: 'bad' } }],
      ['413', { status: 413, body: { detail: 'big' } }, { status: 413, json: { detail: 'big' } }],
    ])('%s, the sender gets the same answer', async (_, answer, heard) => {
      sentry.once(answer)
      expect(await send({})).toMatchObject(heard)
    })

    it('forwards its Content-Type and rate-limit headers to the sender, and no others', async () => {
      sentry.once({
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'retry-after': '7',
          'x-sentry-rate-limits': '7:replay:key',
          'x-sentry-error': 'x',
          'x-request-id': 'of-sentry',
          server: 'of-sentry',
        },
        body: '{}',
      })
      const { headers } = await send({ body: errorOf(sentry.dsn(LIMITED)) })
      expect(headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'retry-after': '7',
        'x-sentry-rate-limits': '7:replay:key',
        'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
      })
      const OURS = [
        'content-type',
        'retry-after',
        'x-sentry-rate-limits',
        'x-request-id',
        'x-culvert-receipt',
      ]
      const NODES = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']
      expect(Object.keys(headers).filter((name) => ![...OURS, ...NODES].includes(name))).toEqual([])
    })

    it('429, the sender gets its status and rate limits', async () => {
      sentry.once('limiting')
      expect(await send({ body: errorOf(sentry.dsn(LIMITED)) })).toMatchObject({
        status: 429,
        headers: { 'x-sentry-rate-limits': '60:error:organization', 'retry-after': '60' },
      })
    })
  })

  describe('forwards', () => {
    it('to the path and the key of the configured project, not of the query', async () => {
      await send({ path: '/monitoring?p=456&sentry_key=other' })
      const received = last()
      expect(received.url).toBe(`/api/456/envelope/?sentry_key=${KEY}&sentry_version=7`)
    })

    it('the headers that Sentry uses', async () => {
      const told = {
        'user-agent': 'Mozilla/5.0 (tëst)',
        origin: FRIEND,
        referer: 'https://friend.example/',
        'sec-ch-ua': '"Chromium";v="140"',
        'sec-ch-ua-mobile': '?0',
        'sec-ch-ua-platform': '"Linux"',
        'sec-ch-ua-platform-version': '"6"',
        'sec-ch-ua-model': '""',
      }
      await send({ headers: told })
      const { headers } = last()
      expect(headers).toMatchObject(told)
    })

    it('no other header of the request', async () => {
      await send({
        headers: {
          cookie: 'session=secret',
          authorization: 'Bearer secret',
          'proxy-authorization': 'Basic secret',
          'cf-connecting-ip': '6.6.6.6',
          'true-client-ip': '6.6.6.6',
          'x-real-ip': '6.6.6.6',
          'x-vercel-forwarded-for': '6.6.6.6',
          'x-sentry-forwarded-for': '6.6.6.6',
          'x-forwarded-host': 'evil.example',
          'x-forwarded-proto': 'gopher',
          forwarded: 'for=6.6.6.6',
          'x-sentry-auth': 'Sentry sentry_key=other',
          'x-csrf-token': 'secret',
          accept: '*/*',
          'accept-language': 'de',
          'sec-fetch-site': 'same-origin',
          'content-type': 'text/plain;charset=UTF-8',
          te: 'trailers',
        },
      })
      const { rawHeaders, headers } = last()
      const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
      expect(names.sort()).toEqual(['connection', 'content-length', 'content-type', 'host'])
      expect(headers['content-type']).toBe('application/x-sentry-envelope')
      expect(headers.host).toBe(`127.0.0.1:${sentry.port}`)
    })

    it('the client address from the edge in every address header that servers read', async () => {
      await send({ headers: { 'x-forwarded-for': '203.0.113.7' } })
      const { headers } = last()
      expect(headers).toMatchObject({
        'x-forwarded-for': '203.0.113.7',
        'x-sentry-forwarded-for': '203.0.113.7',
        'x-real-ip': '203.0.113.7',
      })
    })

    it.each(['text/plain;charset=UTF-8', 'application/x-sentry-envelope', 'application/json'])(
      'a body of the Content-Type %s',
      async (type) => {
        expect(await send({ headers: { 'content-type': type } })).toMatchObject({ status: 200 })
        expect(last().body.equals(errorOf(sentry.dsn()))).toBe(true)
      },
    )

    it('an envelope without a DSN to the project that its query names', async () => {
      expect(await send({ path: '/monitoring?p=456', body: errorOf(undefined) })).toMatchObject({
        status: 200,
      })
      expect(last().path).toBe('/api/456/envelope/')
    })

    it('the request ID from the edge into the response and into the body of a rejection', async () => {
      const headers = { 'x-request-id': '0123456789abcdef0123456789abcdef' }
      expect(await send({ headers })).toMatchObject({ headers })
      expect(await send({ headers, body: 'hello' })).toMatchObject({
        headers,
        json: { request_id: headers['x-request-id'] },
      })
    })
  })

  describe('answers', () => {
    it.each(['/monitoring', '/monitoring/', '/other/path', '/other/path/', ...Object.values(VECTORS)])(
      'at %s, with and without a query, without a redirect',
      async (path) => {
        expect(await send({ path })).toMatchObject({ status: 200 })
        expect(await send({ path: `${path}?p=456` })).toMatchObject({ status: 200 })
      },
    )

    it('at the path that SDKs derive from its DSN', async () => {
      const dsn = parseDsn(sentry.dsn())
      const [path = ''] = dsn ? derivedPaths(dsn) : []
      expect(await send({ path })).toMatchObject({ status: 200 })
    })

    it.each(['/shop', '/shop/v1.0/de'])('at a derived path below the base path %s', async (base) => {
      expect(await send({ path: `${base}/7y54ph` })).toMatchObject({ status: 200 })
      expect(await send({ path: `${base}/7y54ph/?p=456` })).toMatchObject({ status: 200 })
      expect(await send({ path: `${base}/7y54ph`, method: 'OPTIONS' })).toMatchObject({ status: 204 })
      expect(await send({ path: `${base}/7y54phx` })).toMatchObject({ status: 404 })
    })

    it.each(
      '/ /monitoringx /monitoring/x /Monitoring /other //monitoring /7y54pj /livez /metrics'.split(' '),
    )('at %s with 404 path-unknown', async (path) => {
      expect(await send({ path })).toMatchObject({ status: 404, json: { code: 'path-unknown' } })
    })

    it.each(['{}', '{}\n'])(
      'the connectivity probe %j with {}, without a request to Sentry',
      async (body) => {
        const arrived = sentry.requests.length
        expect(await send({ body })).toMatchObject({ status: 200, text: '{}' })
        expect(sentry.requests).toHaveLength(arrived)
      },
    )

    it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH'] as const)(
      '%s with 405 and the allowed methods',
      async (method) => {
        const heard = await send({ method })
        expect(heard).toMatchObject({ status: 405, headers: { allow: 'POST, OPTIONS' } })
        if (method !== 'HEAD') expect(heard.json).toMatchObject({ code: 'method-unknown' })
      },
    )
  })

  describe('sends CORS headers', () => {
    const EXPOSED = 'x-sentry-error, x-sentry-rate-limits, retry-after, x-culvert-outcome'
    const foreign = (origin: string) => ({ origin, 'sec-fetch-site': 'cross-site' })

    it('that let a page of an allowed origin read the response', async () => {
      for (const body of [errorOf(sentry.dsn()), 'hello'])
        expect(await send({ headers: foreign(FRIEND), body })).toMatchObject({
          headers: {
            'access-control-allow-origin': FRIEND,
            'access-control-expose-headers': EXPOSED,
            vary: 'origin',
          },
        })
    })

    it('that let a page of an allowed origin post', async () => {
      const headers = { ...foreign(FRIEND), 'access-control-request-method': 'POST' }
      expect(await send({ method: 'OPTIONS', headers })).toMatchObject({
        status: 204,
        headers: {
          'access-control-allow-origin': FRIEND,
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': expect.stringContaining('content-type'),
          'access-control-max-age': '3600',
        },
      })
    })

    it.each(['https://evil.example', 'null'])(
      'never to the origin %s, which is not allowed',
      async (origin) => {
        const arrived = sentry.requests.length
        const preflight = await send({ method: 'OPTIONS', headers: foreign(origin) })
        expect(preflight.status).toBe(204)
        const refused = await send({ headers: foreign(origin) })
        expect(refused).toMatchObject({ status: 403, json: { code: 'origin-foreign' } })
        for (const { headers } of [preflight, refused])
          expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
        expect(sentry.requests).toHaveLength(arrived)
      },
    )

    it('never to a page of its own origin', async () => {
      const { status, headers } = await send({
        headers: { origin: tunnel.url, 'sec-fetch-site': 'same-origin' },
      })
      expect(status).toBe(200)
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    })
  })

  it('keeps an idle connection open for 75 s, and says so in Keep-Alive', async () => {
    expect((await send({})).headers['keep-alive']).toBe('timeout=75')
  })

  it('sums up 999 items of one type in one row of the receipt', async () => {
    const items = '{"type":"x"}\na\n'.repeat(999)
    await send({ body: `{"dsn":"${sentry.dsn()}"}\n${items}` })
    expect(await tunnel.receipt(({ bytes }) => bytes > 10_000)).toMatchObject({
      items: [{ type: 'other', count: 999, bytes: 999 }],
    })
  })
})
