/** Responses and outcomes when Sentry has not decided on an envelope. */

import { describe, expect } from 'vitest'
import type { Config } from '../../../../tunnel/src/config/config.ts'
import { errorOf } from '../../../support/envelopes.ts'
import { post } from '../../../support/post.ts'
import type { Answer } from '../../../support/sentry/responses.ts'
import { startSentry } from '../../../support/sentry/sentry.ts'
import { it } from '../../../support/tunnel/fixtures.ts'
import { openTunnel } from '../../../support/tunnel/in-process.ts'
import { until } from '../../../support/until.ts'

const CASES: [string, Answer][] = [
  ['returns 503', { status: 503, headers: { 'retry-after': '1' } }],
  ['redirects', 'redirecting'],
  ['does not answer', 'silent'],
]

describe('An envelope that Sentry fails to answer is spooled', () => {
  it.each(CASES)(
    'when Sentry %s: the sender gets 200 without Retry-After, and the envelope is delivered later',
    async (name, answer) => {
      await using site = await open()
      const { sentry, tunnel } = site
      const body = errorOf(sentry.dsn(), { case: name })
      sentry.once(answer)
      const heard = await post(tunnel.url, { body })
      expect(heard).toMatchObject({
        status: 200,
        outcome: 'spooled',
        json: { id: expect.stringMatching(/^[0-9a-f]{32}$/) },
      })
      expect(heard.headers).not.toHaveProperty('retry-after')
      expect(heard.headers).not.toHaveProperty('location')
      await site.drained()
      const arrived = sentry.requests.filter((request) => request.body.equals(body))
      expect(arrived.length).toBeGreaterThan(0)
    },
  )

  async function open() {
    await using starting = new AsyncDisposableStack()
    const sentry = starting.use(await startSentry())
    const env = { SENTRY_DSN: sentry.dsn(), UPSTREAM_LATE_MS: '200' }
    const adjust = (config: Config): Config => ({
      ...config,
      upstream: { ...config.upstream, answerMs: 1000 },
    })
    const tunnel = starting.use(await openTunnel({ env, adjust }))
    const started = starting.move()
    const spooled = async () => (await (await tunnel.admin('/status')).json()).spool.envelopes
    return {
      sentry,
      tunnel,
      spooled,
      /** Resolves when nothing is pending. Advances the clock and the retries, because probes and retries are seconds apart. */
      drained: () =>
        until(async () => {
          tunnel.advanceClock(1_000)
          await tunnel.retry()
          return (await spooled()) === 0
        }),
      [Symbol.asyncDispose]: () => started.disposeAsync(),
    }
  }
})

describe('An upstream failure', () => {
  it('has one log line when the breaker opens, one when it closes, and a class in each receipt', async ({
    sentry,
    tunnel,
  }) => {
    const send = (n: number) => post(tunnel.url, { body: errorOf(sentry.dsn(), { n }) })
    await sentry.away()
    for (let n = 0; n < 6; n++) await send(n)
    const opened = await tunnel.log(({ msg }) => msg === 'circuit breaker opened')
    const error = { class: 'connect', code: 'ECONNREFUSED', count: 5 }
    expect(opened).toMatchObject({ level: 'warn', upstream: sentry.url, error })
    await sentry.back()
    await until(async () => {
      tunnel.advanceClock(1_000) // probes are seconds apart
      return tunnel.logs.some(({ msg }) => msg === 'circuit breaker closed')
    })
    await send(6)
    await until(async () => tunnel.receipts.length === 7)
    const changes = tunnel.logs.filter(({ msg }) => msg?.startsWith('circuit breaker'))
    expect(changes).toMatchObject([
      opened,
      { level: 'info', upstream: sentry.url, error: { ...error, count: expect.any(Number) } },
    ])
    const errors = tunnel.receipts.map(({ upstream_error: each }) => each)
    expect(new Set(errors.slice(0, 6))).toEqual(new Set(['connect', 'breaker-open']))
    expect(errors.at(-1)).toBeUndefined()
    const { upstreams } = await (await tunnel.admin('/status')).json()
    expect(upstreams[0]).toMatchObject({ breaker: { open: false }, last_error: { class: 'connect' } })
  })
})

describe('While delivery is paused and no envelope arrives', () => {
  it('the breaker closes when Sentry is back', async ({ sentry, tunnel }) => {
    const headers = { authorization: `Bearer ${tunnel.token}` }
    expect((await tunnel.admin('/spool/pause', { method: 'POST', headers })).status).toBe(200)
    await sentry.away()
    for (let n = 0; n < 5; n++)
      expect((await post(tunnel.url, { body: errorOf(sentry.dsn(), { n }) })).outcome).toBe('spooled')
    await tunnel.log(({ msg }) => msg === 'circuit breaker opened')
    await sentry.back()
    tunnel.advanceClock(5_000)
    await tunnel.log(({ msg }) => msg === 'circuit breaker closed')
    const { upstreams, spool } = await (await tunnel.admin('/status')).json()
    expect(upstreams[0].breaker.open).toBe(false)
    expect(spool.envelopes).toBe(5)
  })
})
