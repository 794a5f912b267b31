/** Spool on a NATS server that does not respond for longer than a tunnel waits, and then executes the requests. */

import { readFile } from 'node:fs/promises'
import { connect } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import type { Lease, Spool } from '../../../tunnel/src/pipeline/spool.ts'
import type { Nats } from '../../support/nats/nats.ts'
import { requires } from '../../support/requirements.ts'
import { ALL } from '../../support/spool/entries.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'
import { store as putStored, takeAll } from '../../support/spool/operations.ts'
import { until } from '../../support/until.ts'

const DELETIONS = '$JS.API.STREAM.MSG.DELETE.CULVERT_SPOOL_ERRORS'
const DELETIONS_OF_SESSIONS = '$JS.API.STREAM.MSG.DELETE.CULVERT_SPOOL_SESSIONS'
const MISSING = { id: 4, key: 'none' }

describe('A NATS server that does not respond for a time', {
  ...requires('nats-server'),
  concurrent: true,
}, () => {
  it('still gives a final outcome to each delivery that it finished after the tunnel stopped waiting', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    for (let n = 0; n < 10; n++) await putStored(spool)
    const leases = await takeAll(spool, 10)
    await stop(store.nats)
    const finished = Promise.all(leases.map((lease) => spool.finish(lease)))
    await untilGivenUp(spool)
    resume(store.nats)
    expect(await finished).toEqual(leases.map(() => true))
  })

  it('marks the entries that it stored after their puts were rejected, so that they have one outcome', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    const acknowledged = await putStored(spool)
    await stop(store.nats)
    const puts = await Promise.allSettled(Array.from({ length: 5 }, () => putStored(spool)))
    expect(puts.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
    resume(store.nats)
    await until(async () => (await spool.totals().catch(() => undefined))?.envelopes === 6)
    const taken: Lease[] = []
    await until(async () => {
      taken.push(...(await spool.take(10, 60_000, ALL).catch(() => [])))
      return taken.length >= 6
    })
    expect(taken.filter(({ isRejected }) => !isRejected).map(({ key }) => key)).toEqual([acknowledged.key])
    expect((await spool.totals()).envelopes).toBe(6)
  })

  it.each([
    ['purged', (spool: Spool) => spool.purge({})],
    ['expired', (spool: Spool) => spool.expire(Date.now())],
  ])(
    'still gives a final outcome to each %s entry that it deleted after the tunnel stopped waiting',
    async (_, remove) => {
      await using store = await openStore()
      const spool = await store.spool()
      const keys: string[] = []
      for (let n = 0; n < 100; n++) keys.push((await putStored(spool)).key)
      const nc = await connect({ servers: store.nats.server })
      const deletions = nc.subscribe(DELETIONS, { max: 1 })
      await nc.flush()
      const removed = remove(spool)
      for await (const _first of deletions) await stop(store.nats)
      await untilGivenUp(spool)
      resume(store.nats)
      await nc.close()
      expect((await removed).map(({ key }) => key).sort()).toEqual(keys.sort())
      expect((await spool.totals()).envelopes).toBe(0)
    },
  )

  it.each([
    ['purged', (spool: Spool) => spool.purge({})],
    ['expired', (spool: Spool) => spool.expire(Date.now())],
  ])(
    'gives a final outcome to the entries that it %s before a failure in another stream',
    async (_, remove) => {
      await using store = await openStore()
      const spool = await store.spool()
      const { key } = await putStored(spool)
      await putStored(spool, { priority: 1, category: 'session' })
      const nc = await connect({ servers: store.nats.server })
      const deletions = nc.subscribe(DELETIONS_OF_SESSIONS, { max: 1 })
      await nc.flush()
      const removed = remove(spool)
      for await (const _first of deletions) await stop(store.nats)
      await spool.close()
      resume(store.nats)
      await nc.close()
      expect((await removed).map((entry) => entry.key)).toContain(key) // the server may have deleted the other one, too
    },
  )
})

/** Resolves when the requests that began before this one have timed out. */
async function untilGivenUp(spool: Spool): Promise<void> {
  await expect(spool.list({ entry: MISSING })).rejects.toThrow(/^NATS does not answer/)
}

/** Resolves when the server has stopped: on a busy machine, its threads may run on for a while. */
async function stop(nats: Nats): Promise<void> {
  const pid = Number(nats.pid())
  process.kill(pid, 'SIGSTOP')
  await until(async () => / T /.test(await readFile(`/proc/${pid}/stat`, 'utf8')))
}

function resume(nats: Nats): void {
  process.kill(nats.pid() as number, 'SIGCONT')
}
