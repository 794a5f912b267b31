/** History of real tunnels that share a store, over their restarts. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { ReplicaStatus } from '../../../contract/admin-api.ts'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { HISTORY_RANGES, type History } from '../../../contract/history.ts'
import { errorOf } from '../../support/envelopes.ts'
import { startNats } from '../../support/nats/nats.ts'
import { post } from '../../support/post.ts'
import { requires } from '../../support/requirements.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const STORES = {
  'SQLite file': async () => {
    const folder = await makeMemoryFolder()
    return Object.assign(folder, { url: pathToFileURL(join(folder.path, 'spool.db')).href })
  },
  'NATS server': startNats,
}

describe.each([
  ['SQLite file', {}],
  ['NATS server', requires('nats')],
] as const)('Tunnels on one %s', (name, requirement) => {
  it('return the envelopes of all of them after they were stopped, each once', requirement, async () => {
    await using store = await STORES[name]()
    await using sentry = await startSentry()
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: store.url }
    await sumOverRestarts(env, sentry.dsn())
  })
})

it('Tunnels on one inbox return the envelopes of all of them after they were stopped, each once', async () => {
  await using folder = await makeMemoryFolder()
  await sumOverRestarts({ INBOX_FILE: join(folder.path, 'inbox.db') }, INBOX_DSN)
})

it('Tunnels with inboxes of their own report different stores of the history', async () => {
  await using one = await startTunnel()
  await using other = await startTunnel()
  expect(await storeOf(one)).toMatch(/^[0-9a-f-]{36}$/)
  expect(await storeOf(one)).not.toBe(await storeOf(other))
})

async function sumOverRestarts(env: Record<string, string>, dsn: string): Promise<void> {
  await using scope = new AsyncDisposableStack()
  const start = async () => scope.use(await startTunnel({ env }))
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

async function storeOf(tunnel: Tunnel): Promise<string | undefined> {
  const { history_store: id }: ReplicaStatus = await (await tunnel.admin('/status')).json()
  return id
}

async function sendTo(tunnel: Tunnel, dsn: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++)
    expect(await post(tunnel.url, { body: errorOf(dsn) })).toMatchObject({ status: 200 })
}

/** Expects one of the counts in each range. */
async function expectDelivered(tunnel: Tunnel, counts: number[]): Promise<void> {
  for (const range of HISTORY_RANGES) {
    // The store may need longer than the second that a tunnel gives it.
    await until(async () => (await tunnel.admin(`/history?range=${range}`)).ok)
    const { points }: History = await (await tunnel.admin(`/history?range=${range}`)).json()
    const delivered = points.reduce((sum, { outcomes }) => sum + (outcomes.delivered ?? 0), 0)
    expect(counts, range).toContain(delivered)
  }
}
