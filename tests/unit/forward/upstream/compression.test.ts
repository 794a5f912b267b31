/** Bodies that Sentry gets with `UPSTREAM_ENCODING`. */

import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { attachmentOf, envelopeOf, errorOf } from '../../../support/envelopes.ts'
import { post } from '../../../support/post.ts'
import { it } from '../../../support/tunnel/fixtures.ts'
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

describe('With UPSTREAM_ENCODING=gzip', () => {
  it.override('settings', { UPSTREAM_ENCODING: 'gzip' })

  it('Sentry gets a compressed body that decodes to the posted bytes', async ({ sentry, tunnel }) => {
    const bodies = [largeErrorOf(sentry.dsn()), profileOf(sentry.dsn(), Buffer.alloc(200_000, TEXT))]
    for (const body of bodies) {
      expect((await post(tunnel.url, { body })).status).toBe(200)
      const received = await sentry.next()
      expect(received.headers['content-encoding']).toBe('gzip')
      expect(Number(received.headers['content-length'])).toBeLessThan(body.length / 2)
      expect(received.decoded.equals(body)).toBe(true)
    }
  })

  it.for([400, 415])(
    'a server that refuses the encoding with %i gets the posted bytes, for an hour',
    async (status, { sentry, tunnel }) => {
      const body = largeErrorOf(sentry.dsn())
      const encodings = async (count: number) => {
        expect((await post(tunnel.url, { body })).status).toBe(200)
        const received = await Promise.all(Array.from({ length: count }, () => sentry.next()))
        return received.map(({ headers }) => headers['content-encoding'])
      }
      sentry.once({ status })
      expect(await encodings(2)).toEqual(['gzip', undefined])
      expect(await encodings(1)).toEqual([undefined])
      const { upstreams, warnings } = await (await tunnel.admin('/status')).json()
      expect(upstreams).toMatchObject([{ compression: { encoding: 'gzip', is_refused: true } }])
      expect(warnings).toContainEqual(expect.stringContaining('does not accept gzip'))
      tunnel.advanceClock(HOUR_MS)
      expect(await encodings(1)).toEqual(['gzip'])
    },
  )

  it('a spooled envelope is delivered later with the posted bytes, and all memory is released', async ({
    sentry,
    tunnel,
  }) => {
    const body = largeErrorOf(sentry.dsn())
    sentry.once({ status: 503 })
    expect((await post(tunnel.url, { body })).outcome).toBe('spooled')
    for (const { decoded } of [await sentry.next(), await sentry.next()]) expect(decoded).toEqual(body)
    await until(async () =>
      /^culvert_body_memory_bytes 0$/m.test(await (await tunnel.admin('/metrics')).text()),
    )
  })

  it('Sentry gets unmodified what is small, large or compressed already', async ({ sentry, tunnel }) => {
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
