/** Outage of Sentry that fills the disk of the spool: acknowledged envelopes are delivered without an operator. */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { depthOf } from '../../support/outage/accounting.ts'
import { errorAt } from '../../support/outage/envelope-kinds.ts'
import { settle } from '../../support/outage/reconciliation.ts'
import { startSteadyLoad } from '../../support/outage/steady-load.ts'
import { requires } from '../../support/requirements.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { mountSmallDisk } from '../../support/small-disk.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const DISK_MIB = 24
const RATE = 400
const REJECTED = 400 // envelopes, before the disk counts as full
const DEADLINE_MS = 60_000 // from Sentry's return until nothing is pending
const MINUTE = 60_000

describe('Two tunnels with a spool on a disk of 24 MB, while Sentry is away', {
  ...requires('mount'),
  timeout: 4 * MINUTE,
}, () => {
  let scope: AsyncDisposableStack
  let disk: Awaited<ReturnType<typeof mountSmallDisk>>
  let sentry: Sentry
  let tunnels: Tunnel[]

  const start = async (env: Record<string, string>) => {
    const settings = {
      SENTRY_DSN: sentry.dsn(),
      SPOOL_URL: pathToFileURL(join(disk.path, 'spool.db')).href,
      ...env,
    }
    for (let n = 0; n < 2; n++) tunnels.push(scope.use(await startTunnel({ env: settings })))
  }
  const statusOf = async (tunnel: Tunnel) => (await (await tunnel.admin('/status')).json()).spool
  const walBytes = () => statSync(join(disk.path, 'spool.db-wal'), { throwIfNoEntry: false })?.size ?? 0

  /** Posts until many were rejected, starts Sentry again, and returns when nothing is pending. */
  const survive = async () => {
    await sentry.away()
    const load = startSteadyLoad(() => tunnels.map(({ url }) => url), sentry.dsn(), RATE, errorAt)
    const isFull = () => load.answers.filter(({ status }) => status === 503).length > REJECTED
    let longestWal = 0
    await until(async () => {
      longestWal = Math.max(longestWal, walBytes())
      return isFull()
    }, 2 * MINUTE)
    const [full] = await Promise.all(tunnels.map(statusOf))
    const answers = await load.end()
    await sentry.back()
    const returned = performance.now()
    await until(async () => (await depthOf(tunnels)) === 0, DEADLINE_MS)
    return {
      ...settle(answers, sentry.requests),
      full,
      longestWal,
      seconds: (performance.now() - returned) / 1000,
    }
  }

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    disk = scope.use(await mountSmallDisk(DISK_MIB))
    sentry = scope.use(await startSentry())
    tunnels = []
  })

  afterEach(() => scope.disposeAsync())

  it('deliver all acknowledged envelopes, with the default bound', async () => {
    await start({})
    const { lost, acknowledged, full, longestWal, seconds } = await survive()
    console.log(`${acknowledged} acknowledged, all delivered ${seconds.toFixed(1)} s after Sentry's return`)
    expect(lost).toEqual([])
    expect(acknowledged).toBeGreaterThan(1_000)
    expect(longestWal).toBeLessThan(3 * 1024 * 1024)
    expect(full.disk_free_bytes).toBeGreaterThan(5 * 1024 * 1024)
  })

  it('deliver all acknowledged envelopes, with a bound that exceeds the disk, and log the change once', async () => {
    await start({ SPOOL_BYTES: String(1024 ** 3) })
    const { lost, acknowledged, full, seconds } = await survive()
    console.log(`${acknowledged} acknowledged, all delivered ${seconds.toFixed(1)} s after Sentry's return`)
    expect(lost).toEqual([])
    expect(acknowledged).toBeGreaterThan(1_000)
    expect(full).toMatchObject({ disk_free_bytes: expect.any(Number), wal_bytes: expect.any(Number) })
    for (const { logs } of tunnels) {
      const count = (msg: string) => logs.filter((line) => line.msg === msg).length
      expect(count('the spool failed')).toBeLessThanOrEqual(3) // different errors of the disk
      expect(count('the spool accepts no envelopes')).toBeLessThanOrEqual(3)
    }
  })
})
