/** Clock of the machine that is set back while entries are leased or postponed. */

import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { ALL, PLENTY } from '../../support/spool/entries.ts'
import { keysOf, store, takeAll } from '../../support/spool/operations.ts'
import { openInThisThread } from '../../support/spool/same-thread.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const LEASE_MS = 30_000

let scope: AsyncDisposableStack
let spool: Spool

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  scope = new AsyncDisposableStack()
  const folder = scope.use(await makeMemoryFolder())
  spool = await openSqliteSpool(join(folder.path, 'spool.db'), PLENTY, undefined, openInThisThread)
  scope.defer(() => spool.close())
})

afterEach(async () => {
  vi.useRealTimers()
  await scope.disposeAsync()
})

const setBack = (ms: number) => vi.setSystemTime(Date.now() - ms)
const takeNow = () => spool.take(10, LEASE_MS, ALL)

describe.each([10, 120, 25 * 60])('After the clock was set back by %i minutes', (minutes) => {
  it('postponed entries and new ones are due within two minutes', async () => {
    const postponed = await store(spool)
    const [lease] = await takeAll(spool, 1)
    if (lease) await spool.postpone(lease, Date.now() + 10_000)
    const fresh = await store(spool)
    setBack(minutes * MINUTE_MS)
    expect(keysOf(await takeNow()).sort()).toEqual(keysOf([postponed, fresh]).sort())
  })
})

it('An entry whose lease ends later than any lease is due', async () => {
  const { key } = await store(spool)
  await takeAll(spool, 1, LEASE_MS)
  setBack(120 * MINUTE_MS)
  expect(keysOf(await takeNow())).toEqual([key])
})

it('Leases and delays of this clock are kept', async () => {
  await store(spool, {}, 20 * MINUTE_MS)
  await store(spool)
  const [lease] = await takeAll(spool, 1)
  if (lease) await spool.postpone(lease, Date.now() + MINUTE_MS)
  expect(await takeNow()).toEqual([])
})

it('No entry is postponed by more than two minutes, for the clock may be set back meanwhile', async () => {
  await store(spool)
  const [lease] = await takeAll(spool, 1)
  if (lease) await spool.postpone(lease, Date.now() + DAY_MS)
  vi.setSystemTime(Date.now() + 2 * MINUTE_MS)
  expect(await takeNow()).toHaveLength(1)
})
