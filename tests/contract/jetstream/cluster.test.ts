/** Spool on a cluster of three NATS servers, whose leader moves and is killed during puts and leases. */

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { openJetStreamSpool } from '../../../tunnel/src/store/jetstream/jetstream-spool.ts'
import { startNatsCluster } from '../../support/nats/cluster.ts'
import { requires } from '../../support/requirements.ts'
import { ALL, LONG_MS, PLENTY } from '../../support/spool/entries.ts'
import { keysOf, putOne, store, takeAll } from '../../support/spool/operations.ts'
import { until } from '../../support/until.ts'

const STREAM = 'CULVERT_SPOOL_ERRORS'
const DAY_MS = 24 * 60 * 60 * 1000
const MOVES = 3
const PUTTERS = 4

describe('The spool on three NATS servers', { ...requires('nats-server'), timeout: 300_000 }, () => {
  it(`keeps all acknowledged entries when their leader moves ${MOVES} times and is killed`, async () => {
    await using cluster = await startNatsCluster()
    const address = { servers: cluster.servers, tls: false, replicas: 3, credentials: undefined }
    const open = () => openAtLast(() => openJetStreamSpool(address, { ...PLENTY, ageMs: DAY_MS }, Date.now))
    const spools = await Promise.all([open(), open()])
    expect((await cluster.jsm.streams.info(STREAM)).config.num_replicas).toBe(3)

    const acknowledged = new Set<string>()
    let putting = true
    const putOn = async (spool: Spool) => {
      while (putting) {
        await sleep(1) // a put that fails at once resolves without I/O: the loop would starve timers
        const put = await putOne(spool, { bytes: 3_300 }).catch(() => undefined) // it was not acknowledged
        if (put?.result.kind === 'stored') acknowledged.add(put.entry.key)
      }
    }
    const puts = Array.from({ length: PUTTERS }, (_, i) => putOn(spools[i % 2] as Spool))
    const more = async (many: number) => {
      const before = acknowledged.size
      await expect.poll(() => acknowledged.size).toBeGreaterThan(before + many)
    }
    await more(100)
    for (let move = 0; move < MOVES; move++) {
      await cluster.moveLeader(STREAM)
      await more(100)
    }
    const restart = await cluster.killLeader(STREAM)
    await more(100)
    restart()
    await more(100)
    putting = false
    await Promise.all(puts)

    const taken = new Set<string>()
    await expect
      .poll(() => drain(spools[0] as Spool, taken), { timeout: 120_000 }) // there may be some 10,000 entries
      .toBe(0)
    expect([...acknowledged].filter((key) => !taken.has(key))).toEqual([])
    await Promise.all(spools.map((spool) => spool.close()))
  })

  it('delivers the following entries after it delivered one twice', async () => {
    await using cluster = await startNatsCluster()
    const address = { servers: cluster.servers, tls: false, replicas: 3, credentials: undefined }
    const spool = await openAtLast(() => openJetStreamSpool(address, { ...PLENTY, ageMs: DAY_MS }, Date.now))
    await store(spool)
    for (const lease of await takeAll(spool, 1)) await spool.postpone(lease, Date.now() - 1)
    const [again] = await takeAll(spool, 1)
    expect(again?.attempts).toBe(2)
    if (again) await spool.finish(again)
    await store(spool)
    await takeAll(spool, 1)
    await spool.close()
  })

  it('keeps all declined entries when the leaders of their streams are killed', async () => {
    await using cluster = await startNatsCluster()
    const address = { servers: cluster.servers, tls: false, replicas: 3, credentials: undefined }
    const spool = await openAtLast(() => openJetStreamSpool(address, { ...PLENTY, ageMs: DAY_MS }, Date.now))
    const put = await Promise.all(Array.from({ length: 200 }, () => store(spool)))
    const [first, ...others] = await takeAll(spool, put.length)
    if (first) await spool.finish(first, { state: 'declined' })
    const ended = others.map((lease) => spool.finish(lease, { state: 'declined' }))
    const restart = await cluster.killLeader('CULVERT_DEAD_LETTERS')
    expect(await Promise.all(ended)).toEqual(others.map(() => true))
    restart()
    const listed = async () => keysOf(await spool.entries.list({}, { limit: 1_000 })).sort()
    await expect.poll(() => listed().catch(() => [])).toEqual(keysOf(put).sort())
    await spool.close()
  })
})

/** Retries a call: servers that have just connected to each other sometimes do not respond. A tunnel retries too. */
async function openAtLast(open: () => Promise<Spool>): Promise<Spool> {
  const opened: Spool[] = []
  await until(async () => {
    opened.push(
      ...(await open().then(
        (spool) => [spool],
        () => [],
      )),
    )
    return opened.length > 0
  })
  return opened[0] as Spool
}

/** Leases and finishes one round of entries. Returns the number of pending ones. */
async function drain(spool: Spool, taken: Set<string>): Promise<number> {
  const leases = await spool.take(256, LONG_MS, ALL)
  for (const { key } of leases) taken.add(key)
  await Promise.all(leases.map((lease) => spool.finish(lease)))
  return (await spool.totals()).envelopes
}
