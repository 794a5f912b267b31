/** Graceful stop: every request gets its response. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, it } from 'vitest'
import { attachmentOf, errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

describe('A tunnel that gets SIGTERM', { concurrent: true }, () => {
  it('responds to pending requests, accepts no new ones, and exits with 0', async ({ expect }) => {
    await using sentry = await startSentry()
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
    const gate = Promise.withResolvers<object>()
    sentry.answer(() => gate.promise)
    const posts = Array.from({ length: 50 }, () => post(tunnel.url, { body: errorOf(sentry.dsn()) }))
    for (const _ of posts) await sentry.next()

    process.kill(Number(tunnel.pid), 'SIGTERM')
    await expect.poll(() => readiness(tunnel.adminUrl)).toBe(503)
    await expect(post(tunnel.url, { body: '{}', headers: { connection: 'close' } })).rejects.toThrow()
    gate.resolve({})

    for (const answered of await Promise.all(posts)) expect(answered.status).toBe(200)
    expect(await tunnel.exited).toEqual({ code: 0, signal: null })
    expect(tunnel.receipts.filter(({ outcome: answer }) => answer === 'delivered')).toHaveLength(50)
    expect(tunnel.stderr).toEqual([])
  })

  it('receives the rest of a body that has begun to arrive', async ({ expect }) => {
    await using sentry = await startSentry()
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
    const body = errorOf(sentry.dsn())
    const answered = Promise.withResolvers<{ status: number | undefined; text: string }>()
    const sending = request({
      port: tunnel.port,
      path: '/monitoring',
      method: 'POST',
      headers: { 'content-length': body.length },
    })
    sending.on('error', answered.reject)
    sending.on('response', async (response) =>
      answered.resolve({ status: response.statusCode, text: await text(response) }),
    )
    sending.write(body.subarray(0, 10))
    await expect.poll(() => inFlight(tunnel.adminUrl)).toBe(1)

    process.kill(Number(tunnel.pid), 'SIGTERM')
    await expect.poll(() => readiness(tunnel.adminUrl)).toBe(503)
    sending.end(body.subarray(10))

    expect(await answered.promise).toMatchObject({ status: 200 })
    expect((await sentry.next()).body.equals(body)).toBe(true)
    expect(await tunnel.exited).toEqual({ code: 0, signal: null })
  })

  it('exits at once on a second signal, says so, and has logged all finished requests', async ({
    expect,
  }) => {
    await using sentry = await startSentry()
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
    const gate = Promise.withResolvers<object>()
    sentry.once(() => new Promise(() => {}))
    const cut = expect(post(tunnel.url, { body: errorOf(sentry.dsn()) })).rejects.toThrow()
    await sentry.next()
    sentry.once(() => gate.promise)
    const answered = post(tunnel.url, { body: errorOf(sentry.dsn()) })
    await sentry.next()
    process.kill(Number(tunnel.pid), 'SIGTERM')
    await expect.poll(() => readiness(tunnel.adminUrl)).toBe(503)
    gate.resolve({})
    expect((await answered).status).toBe(200)
    process.kill(Number(tunnel.pid), 'SIGTERM')
    await cut
    expect(await tunnel.exited).toEqual({ code: 1, signal: null })
    expect(tunnel.receipts.map(({ outcome: answer }) => answer)).toEqual(['delivered'])
    // A line that a thread is still writing may follow the last one.
    expect(tunnel.logs).toContainEqual(
      expect.objectContaining({ level: 'fatal', signal: 'SIGTERM', msg: 'second signal: exiting at once' }),
    )
    await tunnel.kill()
  })

  it('does not wait for deliveries from the spool, also with large bodies', async ({ expect }) => {
    await using sentry = await startSentry()
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: sentry.dsn(), UPSTREAM_LATE_MS: '2000' } })
    sentry.answer(() => new Promise(() => {}))
    const body = attachmentOf(sentry.dsn(), randomBytes(12 * 1024 * 1024))
    expect((await post(tunnel.url, { body })).outcome).toBe('spooled')
    process.kill(Number(tunnel.pid), 'SIGTERM')
    expect(await tunnel.exited).toEqual({ code: 0, signal: null })
  })

  it('does not wait for a body that does not arrive', async ({ expect }) => {
    await using tunnel = await startTunnel()
    const sending = request({
      port: tunnel.port,
      path: '/monitoring',
      method: 'POST',
      headers: { 'content-length': 100 },
    })
    const cut = once(sending, 'error')
    sending.write('{')
    await expect.poll(() => inFlight(tunnel.adminUrl)).toBe(1)
    process.kill(Number(tunnel.pid), 'SIGTERM')
    await cut
    expect(await tunnel.exited).toEqual({ code: 0, signal: null })
    expect(await tunnel.receipt(({ outcome: answer }) => answer === 'aborted')).toMatchObject({ status: 0 })
  })
})

async function readiness(adminUrl: string): Promise<number> {
  const response = await fetch(`${adminUrl}/readyz`)
  await response.text()
  return response.status
}

async function inFlight(adminUrl: string): Promise<number> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  return Number(/^culvert_envelopes_in_flight (\d+)$/m.exec(metrics)?.[1])
}
