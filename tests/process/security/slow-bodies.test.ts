/** Bodies that arrive one byte every four seconds: nginx ends them at a deadline, and everyone else is served meanwhile. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { post } from '../../support/post.ts'
import { requires } from '../../support/requirements.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const SLOW = 1_000
const WITHOUT_DEADLINE = 100 // requests that are open before nginx counts the others as many
const BODY_TIMEOUT_MS = 16_000
const EVERY_MS = 4_000
const P99_MS = 100
const WARM_UP = 100 // envelopes
const RATE_MS = 20 // between two envelopes of the live traffic
const HEAD = 'POST /monitoring HTTP/1.1\r\nHost: shop.example\r\nContent-Length:'

let started = new AsyncDisposableStack()

afterEach(async () => {
  await started.disposeAsync()
  started = new AsyncDisposableStack()
})

describe('While a thousand senders send one byte every 4 s, nginx', requires('nginx'), () => {
  it('ends them at the deadline, and live envelopes take less than 100 ms at p99', async () => {
    const sentry = started.use(await startSentry())
    const tunnel = started.use(await startTunnel({ env: { SENTRY_DSN: sentry.dsn() } }))
    const nginx = started.use(await start(`127.0.0.1:${tunnel.port}`))
    const post200 = async () =>
      expect((await post(nginx.url, { body: errorOf(sentry.dsn()) })).status).toBe(200)
    for (let n = 0; n < WARM_UP; n++) await post200()
    const began = performance.now()
    const slow = await Promise.all(Array.from({ length: SLOW }, () => openSlow(nginx.port)))
    const durations: number[] = []
    const pending: Promise<void>[] = []
    const send = async (): Promise<void> => {
      const sent = performance.now()
      await post200()
      durations.push(performance.now() - sent)
    }
    const isOver = () => slow.filter(({ closed }) => !closed).length < WITHOUT_DEADLINE
    while (!isOver() && performance.now() - began < 2 * BODY_TIMEOUT_MS) {
      pending.push(send())
      await sleep(RATE_MS)
    }
    const endedMs = performance.now() - began
    await Promise.all(pending)
    durations.sort((a, b) => a - b)
    const [p50 = NaN, p99 = NaN] = [0.5, 0.99].map((share) => durations[Math.floor(share * durations.length)])
    console.log(
      `ended after ${(endedMs / 1000).toFixed(1)} s; p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms of ${durations.length}`,
    )
    expect(endedMs).toBeGreaterThan(BODY_TIMEOUT_MS - EVERY_MS)
    expect(endedMs).toBeLessThan(BODY_TIMEOUT_MS + EVERY_MS)
    expect(p99).toBeLessThan(P99_MS)
    await vi.waitFor(() =>
      expect(nginx.logged().filter(({ status }) => status === 408).length).toBeGreaterThan(
        SLOW - 2 * WITHOUT_DEADLINE,
      ),
    )
  })

  async function openSlow(port: number): Promise<{ closed: boolean }> {
    const socket: Socket = connect(port, '127.0.0.1').on('error', () => {})
    const sender = { closed: false }
    const timer = setInterval(() => socket.write('x'), EVERY_MS)
    socket.once('close', () => {
      clearInterval(timer)
      sender.closed = true
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
