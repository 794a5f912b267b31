/** Bodies that arrive one byte every 4 s: nginx ends them at a deadline, and serves other requests meanwhile. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { requires } from '../../support/requirements.ts'
import { describeTraffic, startLiveTraffic } from '../../support/security/live-traffic.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const SLOW = 1_000
const WITHOUT_DEADLINE = 100 // number of open requests above which nginx applies the deadline
const BODY_TIMEOUT_MS = 16_000
const EVERY_MS = 4_000
const P99_MS = 100
const WARM_UP_MS = 2_000
const RATE_MS = 20 // between two envelopes of the live traffic
const HEAD = 'POST /monitoring HTTP/1.1\r\nHost: shop.example\r\nContent-Length:'

let started = new AsyncDisposableStack()

afterEach(async () => {
  await started.disposeAsync()
  started = new AsyncDisposableStack()
})

describe('While a thousand senders send one byte every 4 s, nginx', requires('nginx'), () => {
  it('ends their requests at the deadline, and other envelopes take less than 100 ms at p99', async () => {
    const sentry = started.use(await startSentry())
    const tunnel = started.use(await startTunnel({ env: { SENTRY_DSN: sentry.dsn() } }))
    const nginx = started.use(await start(`127.0.0.1:${tunnel.port}`))
    const warmUp = startLiveTraffic(nginx.url, sentry.dsn(), RATE_MS)
    await sleep(WARM_UP_MS)
    await warmUp.end()
    const began = performance.now()
    const slow = await Promise.all(Array.from({ length: SLOW }, () => openSlow(nginx.port)))
    const traffic = startLiveTraffic(nginx.url, sentry.dsn(), RATE_MS)
    await until(
      async () => slow.filter(({ isClosed }) => !isClosed).length < WITHOUT_DEADLINE,
      2 * BODY_TIMEOUT_MS,
    )
    const endedMs = performance.now() - began
    const live = await traffic.end()
    console.log(`slow senders: ended after ${(endedMs / 1000).toFixed(1)} s;`, describeTraffic(live))
    expect(live.statuses).toEqual({ 200: live.count })
    expect(live.p99).toBeLessThan(P99_MS)
    expect(endedMs).toBeGreaterThan(BODY_TIMEOUT_MS - EVERY_MS)
    expect(endedMs).toBeLessThan(BODY_TIMEOUT_MS + EVERY_MS)
    await vi.waitFor(
      () =>
        expect(nginx.logged().filter(({ status }) => status === 408).length).toBeGreaterThan(
          SLOW - 2 * WITHOUT_DEADLINE,
        ),
      { timeout: 60_000 },
    )
  })

  async function openSlow(port: number): Promise<{ isClosed: boolean }> {
    const socket: Socket = connect(port, '127.0.0.1').on('error', () => {})
    const sender = { isClosed: false }
    const timer = setInterval(() => socket.write('x'), EVERY_MS)
    socket.once('close', () => {
      clearInterval(timer)
      sender.isClosed = true
    })
    started.defer(() => void socket.destroy())
    await once(socket, 'connect')
    socket.write(`${HEAD} 100\r\n\r\n`)
    return sender
  }

  function start(tunnel: string): Promise<Nginx> {
    const env = { BODY_TIMEOUT_MS: String(BODY_TIMEOUT_MS) }
    return startNginx({ tunnels: [tunnel], web: '127.0.0.1:9', env })
  }
})
