/** Rejections: a request that provokes each code, and the format of the response. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { REJECTIONS, type RejectionCode } from '../../../contract/rejections.ts'
import { attachmentOf, errorOf } from '../../support/envelopes.ts'
import { type Posting, post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const MIB = 1024 * 1024
const MARK = 'a-word-of-the-payload'
const item = `{"type":"event"}\n{"message":"${MARK}"}\n`

/** Event as `raven` and old versions of `sentry-sdk` for Python post it. */
const STORE_EVENT = JSON.stringify({
  event_id: '9ec79c33ec9942ab8353589fcb2e04dc',
  timestamp: '2026-11-22T10:00:00Z',
  platform: 'python',
  level: 'error',
  exception: { values: [{ type: 'ValueError', value: MARK }] },
})

const REPORTS = '/monitoring/reports'
const JSON_REPORTS = { 'content-type': 'application/reports+json' }

/** Request that provokes each code, with its preparation. */
type Provocation = Posting & {
  /** Status of the response; that of the code unless given. */
  answered?: number
  first?: (place: Place) => Promise<unknown> | undefined
  after?: (place: Place) => unknown
}
type Place = { sentry: Sentry; tunnel: Tunnel; bodies: string }

const PROVOCATIONS: Partial<Record<RejectionCode, (dsn: string) => Provocation>> = {
  'empty-body': () => ({ body: '' }),
  'not-an-envelope': () => ({ body: `${MARK}\n${item}` }),
  'items-missing': () => ({ body: STORE_EVENT }),
  'header-invalid': () => ({ body: `{"event_id":"${MARK}"}\n${item}` }),
  'item-header-invalid': (dsn) => ({ body: `{"dsn":"${dsn}"}\n{"kind":"${MARK}"}\n${item}` }),
  'item-malformed': (dsn) => ({ body: `{"dsn":"${dsn}"}\n{"type":"event","length":3}\n${MARK}\n` }),
  'item-internal': (dsn) => ({ body: `{"dsn":"${dsn}"}\n{"type":"integration"}\n${MARK}` }),
  'header-too-large': () => ({ body: `{"a":"${MARK.repeat(4_000)}"}\n` }),
  'headers-too-large': (dsn) => ({
    body: `{"dsn":"${dsn}"}\n${`{"type":"x","y":"${MARK.repeat(1_000)}"}\n\n`.repeat(80)}`,
  }),
  'header-too-complex': () => ({ body: `{"a":${'['.repeat(16)}"${MARK}"${']'.repeat(16)}}\n` }),
  'too-many-items': (dsn) => ({ body: `{"dsn":"${dsn}"}\n${'{"type":"x"}\na\n'.repeat(1_001)}` }),
  'item-too-large': (dsn) => ({ body: `{"dsn":"${dsn}"}\n{"type":"event"}\n${MARK.repeat(60_000)}` }),
  'item-too-many': (dsn) => ({ body: `{"dsn":"${dsn}"}\n${item.replace('event', 'session').repeat(101)}` }),
  'envelope-too-large': () => ({ body: Buffer.alloc(20 * MIB + 1, MARK) }),
  'encoding-unknown': () => ({ headers: { 'content-encoding': 'compress' }, body: `{}\n${item}` }),
  'encoding-broken': () => ({ headers: { 'content-encoding': 'gzip' }, body: `{}\n${item}` }),
  'body-timeout': (dsn) => ({ body: unending(`{"dsn":"${dsn}"}\n{"type":"event"}\n${MARK}`) }),
  'dsn-missing': () => ({ body: `{}\n${item}` }),
  'dsn-invalid': () => ({ body: `{"dsn":"${MARK}"}\n${item}` }),
  'dsn-unknown': () => ({ body: `{"dsn":"https://${MARK.replaceAll('-', '')}@evil.example/1"}\n${item}` }),
  'query-malformed': (dsn) => ({ path: '/monitoring?p=0456', body: errorOf(dsn) }),
  'query-mismatch': (dsn) => ({ path: '/monitoring?p=457', body: errorOf(dsn) }),
  'origin-foreign': (dsn) => ({ headers: { origin: 'https://evil.example' }, body: errorOf(dsn) }),
  'report-content-type': () => ({ path: REPORTS, headers: { 'content-type': 'text/plain' }, body: MARK }),
  'report-malformed': () => ({ path: REPORTS, headers: JSON_REPORTS, body: MARK }),
  'report-too-large': () => ({ path: REPORTS, headers: JSON_REPORTS, body: MARK.repeat(60_000) }),
  'reports-too-many': () => ({
    path: REPORTS,
    headers: JSON_REPORTS,
    body: JSON.stringify(Array.from({ length: 101 }, () => MARK)),
  }),
  'report-foreign': () => ({
    path: REPORTS,
    answered: 200, // the post can be read
    headers: JSON_REPORTS,
    body: JSON.stringify([{ type: 'crash', url: 'https://evil.example/', body: { reason: MARK } }]),
  }),
  'report-origin-missing': () => ({
    path: REPORTS,
    answered: 200,
    headers: JSON_REPORTS,
    body: JSON.stringify([{ type: 'crash', url: 'about:srcdoc', body: { reason: MARK } }]),
  }),
  'report-project-unknown': () => ({ path: `${REPORTS}?p=7`, headers: JSON_REPORTS, body: MARK }),
  'request-malformed': (dsn) => ({ headers: { host: 'a@b' }, body: errorOf(dsn) }),
  'host-unknown': (dsn) => ({ headers: { host: 'evil.example' }, body: errorOf(dsn) }),
  'path-unknown': (dsn) => ({ path: '/elsewhere', body: errorOf(dsn) }),
  'method-unknown': (dsn) => ({ method: 'PUT', body: errorOf(dsn) }),
  throttled: (dsn) => ({
    headers: { 'x-forwarded-for': '203.0.113.7' },
    body: errorOf(dsn),
    first: async ({ tunnel, sentry }) => {
      for (let n = 0; n < 10; n++) {
        await post(tunnel.url, { headers: { 'x-forwarded-for': '203.0.113.7' }, body: errorOf(dsn) })
        await sentry.next()
      }
    },
  }),
  'tunnel-failed': (dsn) => ({
    body: attachmentOf(dsn ?? '', Buffer.alloc(17 * MIB, MARK)),
    first: ({ bodies }) => rm(bodies, { recursive: true }),
  }),
}

/** Codes that the tests of the spool, the inbox and the limits provoke. */
const ELSEWHERE: RejectionCode[] = [
  'rate-limited',
  'spool-full',
  'spool-share',
  'spool-unwritable',
  'tunnel-busy',
]

/** Codes that `sdk.test.ts` provokes. */
const OF_SDK: RejectionCode[] = ['project-unknown', 'sdk-file-unknown', 'sdk-missing', 'sdk-store-away']

/** Codes that nginx sends for the tunnel. */
const OF_NGINX: RejectionCode[] = ['tunnel-away', 'tunnel-slow']

describe('A rejection', () => {
  const started = new AsyncDisposableStack()
  let place: Place

  beforeAll(async () => {
    const { path } = started.use(await makeFolder())
    const sentry = started.use(await startSentry())
    const env = {
      SENTRY_DSN: sentry.dsn(),
      MAX_ENVELOPE_BYTES: String(20 * MIB),
      ALLOWED_HOSTS: 'shop.example',
      KEEP_HOURS: '168',
      BODY_DIR: join(path, 'bodies'),
      ADDRESS_RATE: '1',
    }
    const tunnel = started.use(
      await openTunnel({ env, adjust: (config) => ({ ...config, bodyMs: 2000 }), clock: () => 0 }),
    )
    place = { sentry, tunnel, bodies: env.BODY_DIR }
  })

  afterAll(() => started.disposeAsync())

  const cases = Object.entries(PROVOCATIONS).map(([code, provoke]) => ({
    code: code as RejectionCode,
    provoke,
  }))

  it.each(cases)(
    '$code names the error without payload or internals, and nothing is forwarded',
    async ({ code, provoke }) => {
      const { sentry, tunnel } = place
      const { first, after, answered, ...posting } = provoke(sentry.dsn())
      await first?.(place)
      const arrived = sentry.requests.length
      const { status, json, text, headers } = await post(tunnel.url, posting)
      after?.(place)

      const { sentence, fix, ...rejection } = REJECTIONS[code]
      expect({ status, json }).toMatchObject({
        status: answered ?? rejection.status,
        json: {
          detail: `${sentence} ${fix}`,
          code,
          causes: expect.any(Array),
          request_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        },
      })
      expect(headers['content-type']).toBe('application/json')
      expect(json).toMatchObject({ request_id: headers['x-request-id'] })
      expect(headers).not.toHaveProperty('retry-after')
      expect(text).not.toContain(MARK)
      expect(text).not.toMatch(/\.ts|node_modules|\n\s*at /)
      expect(sentry.requests).toHaveLength(arrived)
    },
  )

  it('of each code is provoked by a test, or is sent only by nginx', () => {
    const covered = [...Object.keys(PROVOCATIONS), ...ELSEWHERE, ...OF_SDK, ...OF_NGINX]
    expect(covered.sort()).toEqual(Object.keys(REJECTIONS).sort())
  })
})

/** Returns a stream with some text and without an end. */
function unending(text: string): Readable {
  const stream = new Readable({ read() {} })
  stream.push(text)
  return stream
}
