/** Replica that is paused by SIGSTOP (docker pause, a hung disk) while it holds the write lock of the spool's file. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { NODE } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { startProgram } from '../../support/program.ts'

import { startSentry } from '../../support/sentry/sentry.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const POSTS = 6

describe('While a frozen replica holds the write lock of the spool', () => {
  it('the others reject what Sentry does not take, deliver the rest, start, and stop', async () => {
    await using folder = await makeMemoryFolder()
    await using sentry = await startSentry()
    const file = join(folder.path, 'spool.db')
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: pathToFileURL(file).href, SPOOL_BYTES: '67108864' }
    const body = () => errorOf(sentry.dsn())
    await using tunnel = await startTunnel({ env })
    await sentry.away()
    expect((await post(tunnel.url, { body: body() })).outcome).toBe('spooled')

    await using frozen = await freezeWriter(file)
    const startedAt = performance.now()
    const rejected = await Promise.all(
      Array.from({ length: POSTS }, () => post(tunnel.url, { body: body() })),
    )
    for (const answer of rejected)
      expect(answer).toMatchObject({ status: 503, json: { code: 'spool-unwritable' } })
    const one = performance.now()
    expect(one - startedAt).toBeLessThan(POSTS * 5_000) // one wait of 5 s for all of them
    for (let n = 0; n < POSTS; n++) await post(tunnel.url, { body: body() })
    expect(performance.now() - one).toBeLessThan(5_000) // none for later ones
    const { spool } = await (await tunnel.admin('/status')).json()
    expect(spool).toMatchObject({ writable: false, envelopes: 1, problem: expect.stringContaining('resume') })

    await using second = await startTunnel({ env })
    const depth = async () => (await (await second.admin('/status')).json()).spool.envelopes
    await until(async () => (await depth()) === 1) // it has opened the file, whose schema is current
    await sentry.back()
    for (const { url } of [tunnel, second])
      await until(async () => (await post(url, { body: body() })).status === 200) // after the breaker's probe
    await second.stop()

    await frozen.resume()
    await sentry.away()
    await until(async () => (await post(tunnel.url, { body: body() })).outcome === 'spooled')
    await tunnel.stop()
  })

  it('a tunnel starts whose release adds to the file, and opens it when the lock is released', async () => {
    await using folder = await makeMemoryFolder()
    await using sentry = await startSentry()
    const file = join(folder.path, 'spool.db')
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: pathToFileURL(file).href, SPOOL_BYTES: '67108864' }
    await using frozen = await freezeWriter(file) // of a file without tables
    await using tunnel = await startTunnel({ env })
    expect((await post(tunnel.url, { body: errorOf(sentry.dsn()) })).status).toBe(200)
    await frozen.resume()
    await sentry.away()
    await until(async () => (await post(tunnel.url, { body: errorOf(sentry.dsn()) })).outcome === 'spooled')
  })
})

it('While a frozen replica holds the write lock, live posts do not wait until they are kept', async () => {
  await using folder = await makeMemoryFolder()
  await using sentry = await startSentry()
  const file = join(folder.path, 'spool.db')
  const env = { SENTRY_DSN: sentry.dsn(), KEEP_HOURS: '24', SPOOL_URL: pathToFileURL(file).href }
  await using tunnel = await startTunnel({ env })
  await using frozen = await freezeWriter(file)
  const startedAt = performance.now()
  for (let n = 0; n < 2 * POSTS; n++) {
    expect((await post(tunnel.url, { body: errorOf(sentry.dsn()) })).status).toBe(200)
    expect((await fetch(`${tunnel.adminUrl}/livez`)).status).toBe(200)
  }
  expect(performance.now() - startedAt).toBeLessThan(4_000) // less than one wait for the lock
  await frozen.resume()
  await until(async () => {
    await post(tunnel.url, { body: errorOf(sentry.dsn()) })
    return (await (await tunnel.admin('/inbox')).json()).entries.length > 0
  })
  await tunnel.stop()
})

/** Starts a process that gets the write lock of a file, and is stopped then. */
async function freezeWriter(file: string) {
  const writer = startProgram('The writer', NODE, ['tests/support/spool/lock-process.ts', file], {})
  await writer.line((line) => line === 'locked', 60_000)
  process.kill(Number(writer.pid), 'SIGSTOP')
  return {
    async resume(): Promise<void> {
      process.kill(Number(writer.pid), 'SIGUSR2')
      process.kill(Number(writer.pid), 'SIGCONT')
      await writer.line((line) => line === 'released', 60_000)
    },
    [Symbol.asyncDispose]: writer.kill,
  }
}
