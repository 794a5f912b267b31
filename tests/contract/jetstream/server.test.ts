/** The spool on a NATS server that is killed, shared, full, or not what it should be. */

import { randomBytes } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, nanos } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import type { Spool } from '../../../tunnel/src/spool/spool.ts'
import { type Nats, startNats } from '../../support/nats/nats.ts'
import { requires } from '../../support/requirements.ts'
import { ALL, LONG_MS } from '../../support/spool/entries.ts'
import { openSpoolOn, openStore } from '../../support/spool/jetstream-spool.ts'
import { bytesOf, putOne, takeAll } from '../../support/spool/operations.ts'

const STREAM = 'CULVERT_SPOOL'
const PAUSES = 'CULVERT_PAUSES'
const MIB = 1024 * 1024

describe('The spool on a NATS server', { ...requires('nats'), timeout: 60_000 }, () => {
  it('loses nothing it acknowledged when the server is killed in the middle of puts and takes', async () => {
    await using store = await openStore()
    const [putter, taker] = [await store.spool(), await store.spool()]
    const acknowledged = new Set<string>()
    const taken: string[] = []
    let putting = true
    const puts = Array.from({ length: 16 }, async () => {
      while (putting) {
        const put = await putOne(putter, { bytes: 3_300 }).catch(() => undefined)
        if (put?.result.kind === 'stored') acknowledged.add(put.entry.key)
      }
    })
    const drained = drain(taker, taken, () => putting || taken.length === 0)
    for (const many of [100, 200, 300]) {
      await expect.poll(() => acknowledged.size).toBeGreaterThan(many)
      await store.nats.kill()
      await store.nats.start()
    }
    putting = false
    await Promise.all(puts)
    await drained
    await drain(taker, taken, async () => (await taker.totals()).envelopes > 0)
    const seen = new Set(taken)
    expect([...acknowledged].filter((key) => !seen.has(key))).toEqual([])
    // A kill forgets who had leases, and what was deleted a moment before: such come twice. They are few.
    expect(taken.length - seen.size).toBeLessThanOrEqual(3 * 64)
  })

  it('says within seconds that it takes nothing while the server is away, and goes on by itself', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    await store.nats.kill()
    const began = performance.now()
    await expect(putOne(spool)).rejects.toThrow()
    expect(performance.now() - began).toBeLessThan(10_000)
    await store.nats.start()
    await expect.poll(() => putOne(spool).then(({ result }) => result.kind)).toBe('stored')
  })

  it('keeps a put that the server restarts under', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    await store.nats.kill()
    const put = putOne(spool)
    await store.nats.start()
    expect((await put).result.kind).toBe('stored')
  })

  it('keeps a pause that the server restarts under, a killed one too', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    await putOne(spool)
    await spool.pause()
    await store.nats.kill()
    await store.nats.start()
    const after = await store.spool()
    expect((await after.totals()).paused).toHaveLength(1)
    expect(await after.take(1, LONG_MS, ALL)).toEqual([])
    await after.resume()
    await takeAll(after, 1)
  })

  it('keeps 5 MiB in parts, and forgets parts whose envelope never came', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    const { body } = await putOne(spool, { bytes: 5 * MIB })
    const { nc, jsm } = await manage(store.nats)
    const parts = async () =>
      (await jsm.streams.info(STREAM, { subjects_filter: 'spool-part.>' })).state.subjects
    const [[mine = '', many] = []] = Object.entries((await parts()) ?? {})
    expect(many).toBeGreaterThan(4)
    const before = (Date.now() - 11 * 60 * 1000).toString(36)
    await jsm.jetstream().publish(`spool-part.${before}_dead`, randomBytes(1_000))
    await jsm.jetstream().publish(`spool-part.${Date.now().toString(36)}_young`, randomBytes(1_000))
    await spool.expire(0)
    const kept = Object.keys((await parts()) ?? {})
    expect(kept).toHaveLength(2)
    expect(kept).toEqual(expect.arrayContaining([mine, expect.stringMatching(/_young$/)]))
    const [lease] = await takeAll(spool, 1)
    expect(lease && body.equals(await bytesOf(await spool.read(lease)))).toBe(true)
    if (lease) await spool.finish(lease)
    expect(Object.keys((await parts()) ?? {})).toEqual([expect.stringMatching(/_young$/)])
    await nc.close()
  })

  it('lets several replicas start at once where there is no stream yet', async () => {
    await using nats = await startNats()
    const spools = await Promise.all(Array.from({ length: 4 }, () => openSpoolOn(nats)))
    expect(new Set(spools.map(({ id }) => id)).size).toBe(1)
    await Promise.all(spools.map((spool) => spool.close()))
  })

  it.each([
    ['discards the oldest', { discard: 'old' as const }, /discard must be new/],
    ['is in memory', { storage: 'memory' as const }, /storage must be file/],
    [
      'knows the same bytes for 2 minutes',
      { duplicate_window: nanos(120_000) },
      /duplicate_window must be 10m/,
    ],
  ])('refuses a stream that %s', async (_, weaker, words) => {
    await using nats = await startNats()
    const { nc, jsm } = await manage(nats)
    await jsm.streams.add({
      ...{ name: STREAM, subjects: ['spool.>', 'spool-part.>'], retention: 'workqueue', max_bytes: 10 * MIB },
      ...{ storage: 'file', discard: 'new', duplicate_window: nanos(600_000), ...weaker },
    })
    await nc.close()
    await expect(openSpoolOn(nats)).rejects.toThrow(words)
  })

  it('refuses a stream of pauses that forgets them, and says how to mend it', async () => {
    await using nats = await startNats()
    const { nc, jsm } = await manage(nats)
    await jsm.streams.add({
      ...{ name: PAUSES, subjects: ['culvert-pause.>'], max_age: nanos(60_000), discard: 'new' },
    })
    await nc.close()
    await expect(openSpoolOn(nats)).rejects.toThrow(/CULVERT_PAUSES .*max_age must be 0.*nats stream edit/)
  })

  it('says what to do where the server makes no stream of pauses', async () => {
    await using nats = await startNats()
    const { nc, jsm } = await manage(nats)
    await jsm.streams.add({ name: 'OTHER', subjects: ['culvert-pause.>'] })
    await nc.close()
    await expect(openSpoolOn(nats)).rejects.toThrow(
      /^SPOOL_URL: the server makes no stream CULVERT_PAUSES: .*overlap.*make it there$/,
    )
  })

  it('goes on with nothing paused when somebody deletes the stream of pauses', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    await putOne(spool)
    await spool.pause()
    const { nc, jsm } = await manage(store.nats)
    await jsm.streams.delete(PAUSES)
    await takeAll(spool, 1)
    await jsm.streams.delete(PAUSES)
    await spool.pause()
    expect((await spool.totals()).paused).toHaveLength(1)
    await jsm.streams.delete(PAUSES)
    await spool.resume()
    await nc.close()
  })
})

async function drain(spool: Spool, taken: string[], goesOn: () => boolean | Promise<boolean>): Promise<void> {
  do {
    for (const lease of await spool.take(64, LONG_MS, ALL).catch(() => [])) {
      taken.push(lease.key)
      await spool.finish(lease).catch(() => undefined) // it comes again
    }
  } while (await Promise.resolve(goesOn()).catch(() => true))
}

async function manage({ server }: Nats) {
  const nc = await connect({ servers: server })
  return { nc, jsm: await jetstreamManager(nc) }
}
