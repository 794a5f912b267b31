/** Compressed envelopes for a Sentry that refuses their encoding, live and from the spool. */

import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { envelopeOf, errorOf, type Part } from '../../../support/envelopes.ts'
import { post } from '../../../support/post.ts'
import type { Received } from '../../../support/sentry/received-request.ts'
import type { Answer } from '../../../support/sentry/responses.ts'
import { it } from '../../../support/tunnel/fixtures.ts'
import { until } from '../../../support/until.ts'

const PACK = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync, zstd: zstdCompressSync }
const PACKED = Object.entries(PACK)
const CASES = [
  ['gzip', 400, gzipSync] as const,
  ...PACKED.map(([encoding, pack]) => [encoding, 415, pack] as const),
]
const HOUR_MS = 60 * 60 * 1000

/** Refuses every body with a Content-Encoding, as a server that does not know it. */
function refuse(status: number) {
  return ({ headers }: Received): Answer =>
    headers['content-encoding'] === undefined ? {} : { status, body: { detail: 'invalid event envelope' } }
}

const encodingsOf = (requests: readonly Received[]) =>
  requests.map(({ headers }) => headers['content-encoding'])

describe.for(CASES)('An envelope in %s, which Sentry refuses with %i,', ([encoding, status, pack]) => {
  const headers = { 'content-encoding': encoding }

  it('is sent once more uncompressed, and for an hour no other one in this encoding', async ({
    sentry,
    tunnel,
  }) => {
    sentry.answer(refuse(status))
    const send = async (n: number) => {
      const body = errorOf(sentry.dsn(), { n })
      expect(await post(tunnel.url, { headers, body: pack(body) })).toMatchObject({ status: 200 })
      expect(sentry.requests.at(-1)?.body.equals(body)).toBe(true)
      return encodingsOf(sentry.requests.splice(0))
    }
    expect(await send(1)).toEqual([encoding, undefined])
    expect(await send(2)).toEqual([undefined])
    tunnel.advanceClock(HOUR_MS)
    expect(await send(3)).toEqual([encoding, undefined])
    const { outcomes } = await countsOf(tunnel)
    expect(outcomes).toEqual({ delivered: 3 })
  })

  it('is delivered from the spool with an advanced sent_at', async ({ sentry, tunnel }) => {
    await sentry.away()
    const sent = new Date(Date.now() - 60_000).toISOString()
    const body = pack(errorOf(sentry.dsn(), { sent_at: sent }))
    expect(await post(tunnel.url, { headers, body })).toMatchObject({ status: 200, outcome: 'spooled' })
    sentry.answer(refuse(status))
    await sentry.back()
    await tunnel.retry()
    const { header, decoded } = await sentry.next(({ headers }) => headers['content-encoding'] === undefined)
    expect(Date.parse(String(header.sent_at))).toBeGreaterThan(Date.parse(sent))
    expect(decoded.toString().replace(String(header.sent_at), sent)).toBe(
      String(errorOf(sentry.dsn(), { sent_at: sent })),
    )
    await until(async () => (await countsOf(tunnel)).final.delivered === 1)
    expect(encodingsOf(sentry.requests)).toEqual([undefined])
  })
})

describe('A compressed envelope', () => {
  const headers = { 'content-encoding': 'gzip' }

  it('that Sentry declines uncompressed as well is declined, and its encoding stays in use', async ({
    sentry,
    tunnel,
  }) => {
    sentry.answer({ status: 400, body: { detail: 'no' } })
    for (let n = 0; n < 2; n++) {
      const body = gzipSync(errorOf(sentry.dsn(), { n }))
      expect(await post(tunnel.url, { headers, body })).toMatchObject({ status: 400, json: { detail: 'no' } })
    }
    expect(encodingsOf(sentry.requests)).toEqual(['gzip', undefined, 'gzip', undefined])
  })

  it('that Sentry declines for another reason is not sent again', async ({ sentry, tunnel }) => {
    sentry.answer({ status: 413, body: { detail: 'big' } })
    expect(await post(tunnel.url, { headers, body: gzipSync(errorOf(sentry.dsn())) })).toMatchObject({
      status: 413,
    })
    expect(encodingsOf(sentry.requests)).toEqual(['gzip'])
  })

  it('is spooled when the second attempt fails', async ({ sentry, tunnel }) => {
    sentry.once({ status: 415 })
    sentry.once({ status: 503 })
    expect(await post(tunnel.url, { headers, body: gzipSync(errorOf(sentry.dsn())) })).toMatchObject({
      outcome: 'spooled',
    })
    await until(async () => (await countsOf(tunnel)).final.delivered === 1)
    expect(encodingsOf(sentry.requests)).toEqual(['gzip', undefined, undefined])
  })

  it.for(PACKED)(
    'of many bytes from a few in %s is delivered uncompressed by the spool',
    async ([encoding, pack], { sentry, tunnel }) => {
      sentry.answer(refuse(415))
      const payload = Buffer.alloc(4 * 1024 * 1024)
      const dump: Part = { header: { type: 'attachment', length: payload.length, filename: 'a' }, payload }
      const body = envelopeOf({ dsn: sentry.dsn() }, [dump])
      const headers = { 'content-encoding': encoding }
      expect(await post(tunnel.url, { headers, body: pack(body) })).toMatchObject({ outcome: 'spooled' })
      await until(async () => (await countsOf(tunnel)).final.delivered === 1)
      expect(encodingsOf(sentry.requests)).toEqual([encoding, undefined])
      expect(sentry.requests[1]?.body.equals(body)).toBe(true)
    },
  )

  it('of many bytes from a few that Sentry declines uncompressed as well is declined', async ({
    sentry,
    tunnel,
  }) => {
    sentry.answer({ status: 400, body: { detail: 'no' } })
    const payload = Buffer.alloc(4 * 1024 * 1024)
    const bomb: Part = { header: { type: 'attachment', length: payload.length, filename: 'a' }, payload }
    const body = gzipSync(envelopeOf({ dsn: sentry.dsn() }, [bomb]))
    expect(await post(tunnel.url, { headers, body })).toMatchObject({ outcome: 'spooled' })
    await until(async () => (await countsOf(tunnel)).final.declined === 1)
    expect(encodingsOf(sentry.requests)).toEqual(['gzip', undefined])
  })
})

describe('With UPSTREAM_LATE_MS=50, a compressed envelope', () => {
  it.override('settings', { UPSTREAM_LATE_MS: '50' })

  it('that Sentry refuses after it was spooled is delivered once, uncompressed', async ({
    sentry,
    tunnel,
  }) => {
    const body = errorOf(sentry.dsn())
    const refused = refuse(415)
    sentry.answer((received) => {
      const answer = refused(received)
      return typeof answer === 'object' && answer.status === 415 ? { ...answer, delayMs: 300 } : answer
    })
    const headers = { 'content-encoding': 'br' }
    expect(await post(tunnel.url, { headers, body: brotliCompressSync(body) })).toMatchObject({
      outcome: 'spooled',
    })
    await until(async () => (await countsOf(tunnel)).final.delivered === 1)
    expect(encodingsOf(sentry.requests)).toEqual(['br', undefined])
    expect(sentry.requests[1]?.body.equals(body)).toBe(true)
  })
})

/** Reads the outcomes and the final outcomes that the tunnel has counted. */
async function countsOf(tunnel: { admin: (path: string) => Promise<Response> }) {
  const text = await (await tunnel.admin('/metrics')).text()
  const sums = (pattern: RegExp) => {
    const found: Record<string, number> = {}
    for (const [, name = '', count] of text.matchAll(pattern))
      if (Number(count) > 0) found[name] = (found[name] ?? 0) + Number(count)
    return found
  }
  return {
    outcomes: sums(/^culvert_envelopes_total\{.*outcome="(\w+)".*\} (\d+)$/gm),
    final: sums(/^culvert_spool_final_outcomes_total\{.*outcome="(\w+)".*\} (\d+)$/gm),
  }
}
