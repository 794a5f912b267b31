/** Bodies that arrive one byte every 4 s: nginx serves other requests meanwhile. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { startNginx } from '../../support/nginx/nginx.ts'
import { requires } from '../../support/requirements.ts'
import { describeTraffic, startLiveTraffic } from '../../support/security/live-traffic.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const SLOW = 1_000
const EVERY_MS = 4_000
const BYTES = 3 // from each sender, while other envelopes are sent
const P99_MS = 100
const WARM_UP_MS = 2_000
const RATE_MS = 20 // between two envelopes of the live traffic
const HEAD = 'POST /monitoring HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 100\r\n\r\n'

let started = new AsyncDisposableStack()

afterEach(async () => {
  await started.disposeAsync()
  started = new AsyncDisposableStack()
})

describe('While a thousand senders send one byte every 4 s', requires('nginx'), () => {
  it('other envelopes are delivered in less than 100 ms at p99, and the senders occupy no tunnel', async () => {
    const sentry = started.use(await startSentry())
    const tunnel = started.use(await startTunnel({ env: { SENTRY_DSN: sentry.dsn() } }))
    const nginx = started.use(await startNginx({ tunnels: [`127.0.0.1:${tunnel.port}`], web: '127.0.0.1:9' }))
    const warmUp = startLiveTraffic(nginx.url, sentry.dsn(), RATE_MS)
    await sleep(WARM_UP_MS)
    await warmUp.end()
    const slow = await Promise.all(Array.from({ length: SLOW }, () => openSlow(nginx.port)))
    const traffic = startLiveTraffic(nginx.url, sentry.dsn(), RATE_MS)
    await until(async () => slow.every(({ sent }) => sent >= BYTES), BYTES * EVERY_MS * 2)
    const live = await traffic.end()
    console.log('beside slow senders:', describeTraffic(live))
    expect(slow.filter(({ isClosed }) => isClosed)).toEqual([])
    expect(live.statuses).toEqual({ 200: live.count })
    expect(live.p99).toBeLessThan(P99_MS)
  })

  async function openSlow(port: number): Promise<{ isClosed: boolean; sent: number }> {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    const sender = { isClosed: false, sent: 0 }
    const timer = setInterval(() => socket.write('x', () => sender.sent++), EVERY_MS)
    socket.once('close', () => {
      clearInterval(timer)
      sender.isClosed = true
    })
    started.defer(() => void socket.destroy())
    await once(socket, 'connect')
    socket.write(HEAD)
    return sender
  }
})
