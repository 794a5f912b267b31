/** Figures of tunnels that share a store, over their restarts and losses. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { ReplicaStatus } from '../../../contract/admin-api.ts'
import type { Figures } from '../../../contract/figures.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { STORE_NAMES, STORES } from '../../support/spool/shared-stores.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'
import type { TunnelAccess } from '../../support/tunnel/running.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

describe.each(STORE_NAMES)('Tunnels on one %s', (name, requirement) => {
  it('return the envelopes of all of them after they were stopped, each once', requirement, async () => {
    await using store = await STORES[name]()
    await using sentry = await startSentry()
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: store.url }
    await sumOverRestarts(env, sentry.dsn())
  })
})

it('Tunnels keep what a killed replica counted 5 s ago or earlier, and spooled envelopes that it did not count', async () => {
  await using scope = new AsyncDisposableStack()
  const folder = scope.use(await makeMemoryFolder())
  const sentry = scope.use(await startSentry())
  const env = {
    SENTRY_DSN: sentry.dsn(),
    SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
  }
  const start = async () => scope.use(await startTunnel({ env }))
  const left = await start()
  const killed = await start()
  await sendTo(killed, sentry.dsn(), 7)
  await sendTo(left, sentry.dsn(), 2)
  await expect.poll(() => totalsOf(left, MINUTE), PATIENT).toEqual({ received: 9, results: 9 })
  await sentry.away()
  await sendTo(killed, sentry.dsn(), 1) // spooled within the seconds between two rows
  await killed.kill()
  await sentry.back()
  await expect.poll(async () => sentry.requests.length, PATIENT).toBe(10)
  await left.stop()
  const replaced = await start()
  await sendTo(replaced, sentry.dsn(), 3)
  for (const step of STEPS) expect(await totalsOf(replaced, step)).toEqual({ received: 13, results: 13 })
}, 180_000)

it('Tunnels with inboxes of their own report different stores', async () => {
  await using one = await openTunnel()
  await using other = await openTunnel()
  expect(await storeOf(one)).toMatch(/^[0-9a-f-]{36}$/)
  expect(await storeOf(one)).not.toBe(await storeOf(other))
})

async function sumOverRestarts(env: Record<string, string>, dsn: string): Promise<void> {
  await using scope = new AsyncDisposableStack()
  const start = async () => scope.use(await openTunnel({ env }))
  const [first, second] = await Promise.all([start(), start()])
  expect(await storeOf(first)).toBe(await storeOf(second))
  await sendTo(first, dsn, 2)
  await sendTo(second, dsn, 3)
  await first.stop()
  await expectDelivered(second, [2, 3, 4, 5]) // it stores its own 3 at the end of a minute, which may come between them
  await second.stop()
  const third = await start()
  await expectDelivered(third, [5])
  await sendTo(third, dsn, 1)
  await third.stop()
  const fourth = await start()
  await expectDelivered(fourth, [6])
}

async function storeOf(tunnel: TunnelAccess): Promise<string | undefined> {
  const { spool }: ReplicaStatus = await (await tunnel.admin('/status')).json()
  return spool?.id
}

async function sendTo(tunnel: TunnelAccess, dsn: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++)
    expect(await post(tunnel.url, { body: errorOf(dsn) })).toMatchObject({ status: 200 })
}

/** Returns the envelopes received or pending before, and those delivered, at once or from the spool. */
async function totalsOf(tunnel: TunnelAccess, step: number): Promise<{ received: number; results: number }> {
  const { points, pending_before: before } = await readFigures(tunnel, step)
  const sum = (read: (point: Figures['points'][number]) => number) =>
    points.reduce((all, point) => all + read(point), 0)
  const delivered = sum(
    ({ outcomes, final_outcomes }) => (outcomes.delivered ?? 0) + (final_outcomes.delivered ?? 0),
  )
  return { received: before + sum(({ received }) => received), results: delivered }
}

const PATIENT = { timeout: 60_000, interval: 1_000 }
const MINUTE = 60_000
const STEPS = [MINUTE, 10 * MINUTE, 60 * MINUTE]

/** Expects one of the counts in each step. */
async function expectDelivered(tunnel: TunnelAccess, counts: number[]): Promise<void> {
  for (const step of STEPS) {
    const { points } = await readFigures(tunnel, step)
    const delivered = points.reduce((sum, { outcomes }) => sum + (outcomes.delivered ?? 0), 0)
    expect(counts, `steps of ${step} ms`).toContain(delivered)
  }
}

/** Returns the figures of the last hour. */
async function readFigures(tunnel: TunnelAccess, step: number): Promise<Figures> {
  const to = Date.now() + 1
  const path = `/figures?from=${to - 60 * MINUTE}&to=${to}&step=${step}`
  // The store may need longer than the second that a tunnel gives it.
  await until(async () => (await tunnel.admin(path)).ok)
  return (await tunnel.admin(path)).json()
}
