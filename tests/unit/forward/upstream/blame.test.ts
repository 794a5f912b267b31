/** One envelope, sender or project that Sentry does not take leaves those of others alone. */

import { describe, expect } from 'vitest'
import { errorOf } from '../../../support/envelopes.ts'
import { post } from '../../../support/post.ts'
import type { Answer } from '../../../support/sentry/responses.ts'
import { it } from '../../../support/tunnel/fixtures.ts'
import type { Tunnel } from '../../../support/tunnel/in-process.ts'
import { until } from '../../../support/until.ts'

const HTML = { 'content-type': 'text/html' }
const FORBIDDEN = { status: 403, headers: HTML, body: '<h1>403 Forbidden</h1><p>Blocked by the firewall</p>' }
const POISONS: [string, Answer][] = [
  ['403 in HTML', FORBIDDEN],
  ['502 in HTML', { status: 502, headers: HTML, body: '<h1>502 Bad Gateway</h1>' }],
  ['200 in HTML', { headers: HTML, body: '<h1>Sign in</h1>' }],
  ['a response that is too large', { body: 'x'.repeat(100_000) }],
  ['a closed connection', 'hanging-up'],
]
const POISONED = '203.0.113.7'

const isPoison = ({ body }: { body: Buffer }) => body.includes('poison')
const deliveredAtOnce = ({ receipts }: Tunnel) =>
  receipts.filter(({ outcome }) => outcome === 'delivered').length
const upstreamOf = async (tunnel: Tunnel) => (await (await tunnel.admin('/status')).json()).upstreams[0]
const honestAddress = (n: number) => `198.51.${100 + Math.floor(n / 250)}.${1 + (n % 250)}`

describe('Poisoned envelopes of one address', () => {
  it.for(POISONS)('that get %s delay no envelope of another one', async ([, answer], { sentry, tunnel }) => {
    sentry.answer((received) => (isPoison(received) ? answer : {}))
    const send = (address: string, note: Record<string, unknown>) =>
      post(tunnel.url, { body: errorOf(sentry.dsn(), note), headers: { 'x-forwarded-for': address } })
    for (let n = 0; n < 10; n++) expect((await send(POISONED, { poison: n })).status).toBeLessThan(300)
    for (let n = 0; n < 10; n++) {
      await Promise.all([send(POISONED, { poison: 100 + n }), send(POISONED, { poison: 200 + n })])
      expect((await send(honestAddress(n), { honest: n })).status).toBe(200)
    }
    expect(sentry.requests.filter((each) => each.body.includes('honest'))).toHaveLength(10)
    await expect.poll(() => deliveredAtOnce(tunnel)).toBe(10)
    expect((await upstreamOf(tunnel)).breaker.open).toBe(false)
  })
})

describe('Poisoned envelopes of the same private network as the others', () => {
  it.for(POISONS.slice(0, 2))(
    'that get %s delay no other envelope',
    async ([, answer], { sentry, tunnel }) => {
      sentry.answer((received) => (isPoison(received) ? answer : {}))
      const send = (note: Record<string, unknown>) => post(tunnel.url, { body: errorOf(sentry.dsn(), note) })
      for (let n = 0; n < 10; n++) {
        await send({ honest: n })
        await Promise.all(Array.from({ length: 6 }, (_, i) => send({ poison: `${n} ${i}` })))
      }
      await expect.poll(() => deliveredAtOnce(tunnel)).toBe(10)
    },
  )
})

describe('Five poisoned envelopes of a private network on a site where nothing has passed for 10 s', () => {
  it('delay the next envelope of this network until one probe 5 s later', async ({ sentry, tunnel }) => {
    sentry.answer((received) => (isPoison(received) ? { status: 502, headers: HTML, body: '<h1>' } : {}))
    const send = (note: Record<string, unknown>) => post(tunnel.url, { body: errorOf(sentry.dsn(), note) })
    for (let n = 0; n < 4; n++) await send({ poison: n })
    expect((await send({ honest: 1 })).outcome).toBeUndefined()
    for (let n = 0; n < 5; n++) await send({ poison: n })
    expect((await send({ honest: 2 })).outcome).toBeUndefined() // another has passed
    tunnel.advanceClock(11_000)
    for (let n = 5; n < 10; n++) await send({ poison: n })
    expect((await send({ honest: 3 })).outcome).toBe('spooled')
    tunnel.advanceClock(5_000)
    await expect.poll(() => sentry.requests.some(({ body }) => body.includes('"honest":3'))).toBe(true)
  })
})

describe('A page with 400 for every post, as of Django for a host that it does not know', () => {
  it('is no outage, and declines nothing', async ({ sentry, tunnel }) => {
    sentry.answer({ status: 400, headers: HTML, body: '<h1>Bad Request (400)</h1>' })
    for (let n = 0; n < 10; n++) {
      const { headers } = await post(tunnel.url, { body: errorOf(sentry.dsn(), { n }) })
      expect(headers['x-culvert-outcome']).toBe('spooled')
    }
    const { upstreams, spool } = await (await tunnel.admin('/status')).json()
    expect(upstreams[0]).toMatchObject({
      breaker: { open: false },
      refusals: [{ status: 400, message: 'Bad Request (400)' }],
    })
    expect(spool.envelopes).toBe(10)
  })
})

describe('A project that Sentry does not know', () => {
  const KEY = '0123456789abcdef0123456789abcdef'
  const UNKNOWN: Answer = {
    ...{ status: 403, headers: HTML },
    body: '<title>403</title><h1>403 Forbidden</h1><p>Project not found or key incorrect</p>',
  }
  const isUnknown = ({ path }: { path: string }) => path.includes('/api/3/')

  it.override('sentryOptions', { projects: { 2: KEY, 3: KEY } })
  it.override('settings', ({ sentry }) => ({ SENTRY_DSN: `${sentry.dsn('2')} ${sentry.dsn('3')}` }))

  it('is in the status, with the text of the response, until Sentry accepts an envelope', async ({
    sentry,
    tunnel,
  }) => {
    sentry.answer((received) => (isUnknown(received) ? UNKNOWN : {}))
    const send = (project: '2' | '3', n: number) =>
      post(tunnel.url, { body: errorOf(sentry.dsn(project), { n }) })
    await send('2', 1)
    expect((await upstreamOf(tunnel)).refusals).toEqual([])
    for (let n = 0; n < 10; n++) await send('3', n)
    const status = await upstreamOf(tunnel)
    expect(status).toMatchObject({
      breaker: { open: false },
      refusals: [
        {
          ...{ project: `127.0.0.1:${sentry.port}/3`, status: 403, count: expect.any(Number) },
          message: '403 Forbidden Project not found or key incorrect',
        },
      ],
    })
    expect(status.refusals[0].count).toBeGreaterThanOrEqual(10)
    sentry.answer({})
    tunnel.advanceClock(10_000) // to the next attempt for this project
    await tunnel.retry()
    await until(async () => (await (await tunnel.admin('/status')).json()).spool.envelopes === 0)
    expect((await upstreamOf(tunnel)).refusals).toEqual([])
  })
})

describe('A project whose key Sentry declines', () => {
  const DECLINED: Answer = {
    status: 403,
    body: '{"detail":"event submission rejected with_reason: ProjectId"}',
  }

  it('is in the status with the number of envelopes, until Sentry accepts one', async ({
    sentry,
    tunnel,
  }) => {
    const send = (n: number) => post(tunnel.url, { body: errorOf(sentry.dsn(), { n }) })
    sentry.answer({ ...DECLINED, headers: { 'content-type': 'application/json' } })
    for (let n = 0; n < 4; n++) expect((await send(n)).status).toBe(403)
    expect(await upstreamOf(tunnel)).toMatchObject({
      breaker: { open: false },
      refusals: [
        {
          is_decline: true,
          networks: 2,
          status: 403,
          count: 4,
          message: 'event submission rejected with_reason: ProjectId',
        },
      ],
    })
    sentry.answer({ status: 429, headers: { 'x-sentry-rate-limits': '1:session:key' } })
    await send(4)
    expect((await upstreamOf(tunnel)).refusals).toHaveLength(1)
    sentry.answer({})
    await send(5)
    expect((await upstreamOf(tunnel)).refusals).toEqual([])
  })
})
