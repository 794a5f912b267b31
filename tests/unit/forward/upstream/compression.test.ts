/** Bodies that Sentry gets with `UPSTREAM_ENCODING`. */

import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { attachmentOf, envelopeOf, errorOf } from '../../../support/envelopes.ts'
import { post } from '../../../support/post.ts'
import type { Received } from '../../../support/sentry/received-request.ts'
import type { Answer } from '../../../support/sentry/responses.ts'
import type { Sentry } from '../../../support/sentry/sentry.ts'
import { it } from '../../../support/tunnel/fixtures.ts'
import type { Tunnel } from '../../../support/tunnel/in-process.ts'
import { until } from '../../../support/until.ts'

const HOUR_MS = 60 * 60 * 1000
const TEXT = 'TypeError: Cannot read properties of undefined\n'.repeat(100)

function largeErrorOf(dsn: string): Buffer {
  return envelopeOf({ dsn }, [{ header: { type: 'event' }, payload: JSON.stringify({ message: TEXT }) }])
}

function profileOf(dsn: string, payload: Buffer): Buffer {
  return envelopeOf({ dsn }, [{ header: { type: 'profile_chunk', length: payload.length }, payload }])
}

function replayOf(dsn: string): Buffer {
  return envelopeOf({ dsn }, [
    { header: { type: 'replay_event' }, payload: JSON.stringify({ message: TEXT }) },
    { header: { type: 'replay_recording', length: TEXT.length }, payload: TEXT },
  ])
}

/** Lets Sentry accept an envelope, and with zstd the test envelope after it. */
async function proveIn(sentry: Sentry, tunnel: Tunnel): Promise<void> {
  await post(tunnel.url, { body: errorOf(sentry.dsn()) })
  await sentry.next()
  const { services } = tunnel
  if (services.config.upstreamEncoding !== 'zstd') return
  expect((await sentry.next()).headers['content-encoding']).toBe('zstd')
  await until(async () => services.sentry?.encodings.state(sentry.url, 'zstd') === 'accepted')
}

describe.for(['gzip', 'zstd'])('With UPSTREAM_ENCODING=%s', (encoding) => {
  it.override('settings', { UPSTREAM_ENCODING: encoding })

  it('Sentry gets a compressed body that decodes to the posted bytes', async ({ sentry, tunnel }) => {
    await proveIn(sentry, tunnel)
    const bodies = [largeErrorOf(sentry.dsn()), profileOf(sentry.dsn(), Buffer.alloc(200_000, TEXT))]
    for (const body of bodies) {
      expect((await post(tunnel.url, { body })).status).toBe(200)
      const received = await sentry.next()
      expect(received.headers['content-encoding']).toBe(encoding)
      expect(Number(received.headers['content-length'])).toBeLessThan(body.length / 2)
      expect(received.decoded.equals(body)).toBe(true)
    }
  })

  it.for([400, 415])(
    'a server that refuses the encoding with %i gets the posted bytes, for an hour',
    async (status, { sentry, tunnel }) => {
      await proveIn(sentry, tunnel)
      const body = largeErrorOf(sentry.dsn())
      const encodings = async (count: number) => {
        expect((await post(tunnel.url, { body })).status).toBe(200)
        const received = await Promise.all(Array.from({ length: count }, () => sentry.next()))
        return received.map(({ headers }) => headers['content-encoding'])
      }
      sentry.once({ status })
      expect(await encodings(2)).toEqual([encoding, undefined])
      expect(await encodings(1)).toEqual([undefined])
      tunnel.advanceClock(HOUR_MS)
      if (encoding === 'zstd') await proveIn(sentry, tunnel)
      expect(await encodings(1)).toEqual([encoding])
    },
  )

  it('a spooled envelope is delivered later with the posted bytes, and all memory is released', async ({
    sentry,
    tunnel,
  }) => {
    await proveIn(sentry, tunnel)
    const body = largeErrorOf(sentry.dsn())
    sentry.once({ status: 503 })
    expect((await post(tunnel.url, { body })).outcome).toBe('spooled')
    for (const { decoded } of [await sentry.next(), await sentry.next()]) expect(decoded).toEqual(body)
    await until(async () =>
      /^culvert_body_memory_bytes 0$/m.test(await (await tunnel.admin('/metrics')).text()),
    )
  })
})

describe('With UPSTREAM_ENCODING=zstd', () => {
  it.override('settings', { UPSTREAM_ENCODING: 'zstd' })

  it.for<[string, Answer]>([
    ['does not know it', { status: 415 }],
    ['cannot read it', { status: 400 }],
    ['ignores it', { body: {} }],
    ['fails', { status: 503 }],
  ])('a server that %s gets no envelope in zstd', async ([_, answer], { sentry, tunnel }) => {
    const body = largeErrorOf(sentry.dsn())
    sentry.answer(({ headers }) => (headers['content-encoding'] === 'zstd' ? answer : {}))
    expect(await post(tunnel.url, { body })).toMatchObject({ status: 200 })
    const { items } = await sentry.next(({ headers }) => headers['content-encoding'] === 'zstd')
    expect(items.map(({ header }) => header.type)).toEqual(['client_report'])
    await until(async () => tunnel.services.sentry?.encodings.state(sentry.url, 'zstd') === 'refused')
    const status = await (await tunnel.admin('/status')).json()
    expect(status.upstreams).toMatchObject([{ compression: { encoding: 'zstd', state: 'refused' } }])
    expect(status.warnings).toContainEqual(expect.stringContaining('does not accept zstd'))
    for (let n = 0; n < 3; n++) await post(tunnel.url, { body })
    const plain = sentry.requests.filter(({ headers }) => headers['content-encoding'] === undefined)
    expect(plain.map((received) => received.body.equals(body))).toEqual([true, true, true, true])
    expect(sentry.requests).toHaveLength(5)
  })

  it.for<[string, Answer]>([
    ['ends without a response', 'hanging-up'],
    ['meets a rate limit', { status: 429 }],
  ])('a test that %s refuses nothing, and is made again', async ([_, answer], { sentry, tunnel }) => {
    const body = largeErrorOf(sentry.dsn())
    const isTest = ({ headers }: Received) => headers['content-encoding'] === 'zstd'
    sentry.answer((received) => (isTest(received) ? answer : {}))
    await post(tunnel.url, { body })
    await sentry.next(isTest)
    const attempts = () => tunnel.services.sentry?.upstreams.state()[0]?.errorCounts.get('reset') ?? 0
    if (answer === 'hanging-up') await until(async () => attempts() > 0)
    sentry.answer({})
    await until(async () => {
      await post(tunnel.url, { body })
      return tunnel.services.sentry?.encodings.state(sentry.url, 'zstd') === 'accepted'
    })
  })

  it('Sentry gets unmodified what is small, large or compressed already', async ({ sentry, tunnel }) => {
    await proveIn(sentry, tunnel)
    const dsn = sentry.dsn()
    const gzip = { 'content-encoding': 'gzip' }
    const posts: { body: Buffer; headers?: Record<string, string> }[] = [
      { body: errorOf(dsn) },
      { body: profileOf(dsn, Buffer.alloc(2 ** 20, TEXT)) },
      { body: attachmentOf(dsn, Buffer.from(TEXT)) },
      { body: replayOf(dsn) },
      { body: profileOf(dsn, randomBytes(4096)) },
      { body: gzipSync(largeErrorOf(dsn)), headers: gzip },
    ]
    for (const { body, headers = {} } of posts) {
      expect((await post(tunnel.url, { body, headers })).status).toBe(200)
      const received = await sentry.next()
      expect(received.headers['content-encoding']).toBe(headers['content-encoding'])
      expect(received.body.equals(body)).toBe(true)
    }
  })
})
