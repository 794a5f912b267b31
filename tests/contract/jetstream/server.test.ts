/** Spool on a NATS server that is killed, full, empty, too old, or configured wrongly. */

import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { jetstreamManager, type StreamConfig } from '@nats-io/jetstream'
import { connect, nanos } from '@nats-io/transport-node'
import { describe, expect } from 'vitest'
import type { Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { it } from '../../support/nats/fixtures.ts'
import type { Nats } from '../../support/nats/nats.ts'
import { startOldNats } from '../../support/nats/old-server.ts'
import { NODE } from '../../support/node.ts'
import { requires } from '../../support/requirements.ts'
import { mountSmallDisk } from '../../support/small-disk.ts'
import { ALL, LONG_MS, OTHER_PROJECT, PLENTY } from '../../support/spool/entries.ts'
import { openSpoolOn, openStore } from '../../support/spool/jetstream-spool.ts'
import { putOne, store as putStored, takeAll } from '../../support/spool/operations.ts'

const ERRORS = 'CULVERT_SPOOL_ERRORS'
const MIB = 1024 * 1024
const POLL_MS = 20
const TAKER = new URL('../../support/spool/taker-process.ts', import.meta.url).pathname

describe('The spool on a NATS server', requires('nats'), () => {
  // The first three wait for a lease or a deadline to end, in parallel.
  it('keeps all acknowledged entries when the server is killed during puts and leases', {
    concurrent: true,
  }, async ({ expect }) => {
    await using store = await openStore()
    const [putter, taker] = [await store.spool(), await store.spool()]
    const acknowledged = new Set<string>()
    const taken: string[] = []
    let putting = true
    const puts = Array.from({ length: 4 }, async () => {
      while (putting) {
        await sleep(1) // a put that fails at once resolves without I/O: the loop would starve timers
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
  })

  it('leases the entry of a killed tunnel again', { concurrent: true }, async ({ expect }) => {
    await using store = await openStore()
    const spool = await store.spool()
    const { key } = await putStored(spool)
    const taker = spawn(NODE, [TAKER, store.nats.server], { stdio: ['ignore', 'pipe', 'inherit'] })
    for await (const chunk of taker.stdout) if (String(chunk).includes(key)) break
    taker.kill('SIGKILL')
    await expect
      .poll(async () => (await spool.take(1, LONG_MS, ALL)).map((lease) => [lease.key, lease.attempts]))
      .toEqual([[key, 2]])
  })

  it('rejects puts after 5 s while the server is away, then at once, and accepts them when it is back', {
    concurrent: true,
  }, async ({ expect }) => {
    await using store = await openStore()
    const spool = await store.spool()
    await store.nats.kill()
    const began = performance.now()
    await expect(putOne(spool)).rejects.toThrow(/^NATS does not answer/)
    expect(performance.now() - began).toBeLessThan(20_000)
    const again = performance.now()
    await expect(putOne(spool)).rejects.toThrow(/^NATS does not answer/)
    expect(performance.now() - again).toBeLessThan(4_000) // not the 5 s of a first put
    await expect(spool.probe()).rejects.toThrow(/^NATS does not answer/)
    await store.nats.start()
    await expect
      .poll(() =>
        putOne(spool).then(
          ({ result }) => result.kind,
          () => 'rejected',
        ),
      )
      .toBe('stored')
    await spool.probe()
  })

  it('keeps a put that is running when the server restarts', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    const began = performance.now()
    await store.nats.kill()
    const put = putOne(spool).then(({ result }) => result.kind, String)
    await store.nats.start()
    const kind = await put
    // A put waits 5 s for the server, which may start later on a busy machine.
    expect(kind).toMatch(performance.now() - began < 5_000 ? /^stored$/ : /^stored$|NATS does not answer/)
  })

  it('keeps a pause when the server is killed or restarted', async () => {
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

  it('returns true from finish in one replica only, when the server was away during the call', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    await putStored(spool)
    const [lease] = await takeAll(spool, 1)
    await store.nats.kill()
    const finished = lease && spool.finish(lease)
    await store.nats.start()
    expect(await finished).toBe(true)
    expect(lease && (await (await store.spool()).finish(lease))).toBe(false)
    expect((await spool.totals()).envelopes).toBe(0)
  })

  it('stores an envelope again that was finished before', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    const { entry, body } = await putOne(spool)
    for (let n = 0; n < 12; n++) {
      const [lease] = await takeAll(spool, 1)
      expect(lease && (await spool.finish(lease))).toBe(true)
      expect((await spool.put(entry, { chunks: () => [body] }, 0)).kind).toBe('stored')
    }
  })

  it('skips a message that is not an entry', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    const { nc, jsm } = await manage(store.nats)
    await jsm.jetstream().publish('culvert.spool.0.cHJvamVjdA.error', 'not an entry')
    await nc.close()
    const { key } = await putStored(spool)
    const project = { project: 'project', rateLimitedCategories: [] }
    expect(await spool.take(2, LONG_MS, [project])).toEqual([])
    expect((await takeAll(spool, 1)).map((lease) => lease.key)).toEqual([key])
    expect((await spool.list({ order: 'newest', limit: 5 })).map((entry) => entry.key)).toEqual([key])
    expect((await spool.totals()).partitions).toHaveLength(2)
    expect((await spool.expire(Date.now() + LONG_MS)).map((entry) => entry.key)).toEqual([key])
  })

  it('deletes a large body with its entry', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    await putStored(spool, { bytes: 5 * MIB })
    const { nc, jsm } = await manage(store.nats)
    const bytes = async () => (await jsm.streams.info(`OBJ_${ERRORS}`)).state.bytes
    expect(await bytes()).toBeGreaterThan(5 * MIB)
    const [lease] = await takeAll(spool, 1)
    if (lease) await spool.finish(lease)
    await expect.poll(bytes).toBeLessThan(MIB)
    await nc.close()
  })

  it('creates the streams once when four replicas start at the same time', async ({ nats }) => {
    const spools = await Promise.all(Array.from({ length: 4 }, () => openSpoolOn(nats)))
    expect(new Set(spools.map(({ id }) => id)).size).toBe(1)
    await Promise.all(spools.map((spool) => spool.close()))
  })
})

describe('The bounds of the spool on NATS', requires('nats'), () => {
  it('keep space for errors when replays fill their part', async () => {
    await using store = await openStore({ ...PLENTY, bytes: MIB })
    const spool = await store.spool()
    const putReplay = async () => (await putOne(spool, { bytes: 9_000, category: 'replay' })).result
    let result = await putReplay()
    while (result.kind === 'stored') result = await putReplay()
    expect(result).toEqual({ kind: 'full', reason: 'bound' })
    await putStored(spool, { bytes: 9_000 })
    await putStored(spool, { bytes: 9_000, category: 'session' })
  })

  it('limit a project with large bodies to its share, and no project with small ones for it', async () => {
    await using store = await openStore({ ...PLENTY, bytes: 100 * MIB, projectShare: 0.5 })
    const spool = await store.spool()
    for (let n = 0; n < 50; n++) await putStored(spool, { bytes: 1_000, project: OTHER_PROJECT })
    const kinds = []
    for (let n = 0; n < 12; n++) kinds.push((await putOne(spool, { bytes: 3 * MIB })).result.kind)
    expect(kinds).toContain('full')
    await putStored(spool, { bytes: 1_000, project: OTHER_PROJECT })
  })

  it('reject a body that exceeds the bucket, and leave nothing of it', async () => {
    await using store = await openStore({ ...PLENTY, bytes: 8 * MIB })
    const spool = await store.spool()
    const { result } = await putOne(spool, { bytes: 2 * MIB })
    expect(result).toEqual({ kind: 'full', reason: 'bound' })
    expect((await spool.totals()).envelopes).toBe(0)
    await putStored(spool, { bytes: 500_000 })
  })
})

describe('A NATS server that fails', requires('nats'), () => {
  it('gets a lost stream again within seconds, and one replica counts its entries as lost', async () => {
    await using store = await openStore()
    const [spool, other] = [await store.spool(), await store.spool()]
    for (let n = 0; n < 3; n++) await putStored(spool)
    await Promise.all([spool.totals(), other.totals()])
    await store.nats.kill()
    await rm(store.nats.store, { recursive: true })
    await store.nats.start()
    await expect
      .poll(() =>
        putOne(spool).then(
          ({ result }) => result.kind,
          () => 'rejected',
        ),
      )
      .toBe('stored')
    const totals = await Promise.all([spool, other].map((each) => each.totals()))
    expect(totals.map(({ envelopes }) => envelopes)).toEqual([1, 1])
    expect(totals.reduce((sum, { lost = 0 }) => sum + lost, 0)).toBe(3)
    await takeAll(other, 1)
  })

  it('gets lost buckets again', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    const { nc, jsm } = await manage(store.nats)
    for (const name of [`OBJ_${ERRORS}`, 'KV_CULVERT_SPOOL']) await jsm.streams.delete(name)
    await putStored(spool, { bytes: 2 * MIB })
    await spool.pause()
    expect((await spool.totals()).paused).toHaveLength(1)
    await jsm.streams.delete('KV_CULVERT_SPOOL')
    await takeAll(spool, 1)
    await nc.close()
  })

  it(
    'because its disk is full is named, gets no more puts, and finishes each delivery after a restart with space',
    requires('nats-server', 'mount'),
    async () => {
      await using disk = await mountSmallDisk(16)
      await using store = await openStore({ ...PLENTY, bytes: 8 * MIB }, { store: join(disk.path, 'store') })
      const spool = await store.spool()
      for (let n = 0; n < 40; n++) await putStored(spool, { bytes: 3_300 })
      const leases = await takeAll(spool, 8)
      disk.fill()
      await expect
        .poll(() =>
          putOne(spool, { bytes: 60_000 }).then(
            () => '',
            ({ message }: Error) => message,
          ),
        )
        .toMatch(/^NATS cannot write to its disk \(.*no space left on device.*restart it$/)
      const began = performance.now()
      await expect(putOne(spool)).rejects.toThrow(/no space left/)
      expect(performance.now() - began).toBeLessThan(4_000) // not the 5 s of a first put
      expect(await spool.take(8, LONG_MS, ALL)).toEqual([])
      await expect(spool.probe()).rejects.toThrow(/no space left/)
      expect(await spool.totals()).toMatchObject({ problem: expect.stringContaining('no space left') })
      const finished = Promise.all(leases.map((lease) => spool.finish(lease)))
      await disk.free()
      await store.nats.kill()
      await store.nats.start()
      expect(await finished).toEqual(leases.map(() => true))
      const taken: string[] = []
      await drain(spool, taken, async () => (await spool.totals()).envelopes > 0)
      await spool.probe()
      expect(await spool.totals()).toMatchObject({ envelopes: 0 })
      expect(taken.filter((key) => leases.some((lease) => lease.key === key))).toEqual([])
      expect(taken.length).toBeGreaterThanOrEqual(32)
    },
  )
})

describe('Opening the spool on NATS', requires('nats'), () => {
  it.for<[name: string, weaker: Partial<StreamConfig>, words: RegExp]>([
    [
      'a stream that discards the oldest entries',
      { discard: 'old' },
      /discard is not new\. Run "nats stream edit CULVERT_SPOOL_ERRORS --force --discard=new"$/,
    ],
    [
      'a stream in memory',
      { storage: 'memory' },
      /storage is not file\. Drain it, then run "nats stream rm CULVERT_SPOOL_ERRORS --force"/,
    ],
    [
      'a stream with a duplicate window of 2 min',
      { duplicate_window: nanos(120_000) },
      /duplicate_window is below 10m\. Run "nats stream edit CULVERT_SPOOL_ERRORS --force --dupe-window=10m"$/,
    ],
  ])('rejects %s, with the command that repairs it', async ([, weaker, words], { nats }) => {
    const { nc, jsm } = await manage(nats)
    await jsm.streams.add({
      ...{ name: ERRORS, subjects: ['culvert.spool.0.>'], retention: 'limits', max_bytes: 10 * MIB },
      ...{ storage: 'file', discard: 'new', duplicate_window: nanos(600_000), ...weaker },
    })
    await nc.close()
    await expect(openSpoolOn(nats)).rejects.toThrow(words)
  })

  it('names the reason when the server does not create a stream', async ({ nats }) => {
    const { nc, jsm } = await manage(nats)
    await jsm.streams.add({ name: 'OTHER', subjects: ['culvert.spool.>'] })
    await nc.close()
    await expect(openSpoolOn(nats)).rejects.toThrow(
      /^SPOOL_URL: the server does not create the stream CULVERT_SPOOL_[A-Z]+: .*overlap/, // the first response of the four
    )
  })

  it('applies a changed SPOOL_BYTES', async ({ nats }) => {
    for (const bytes of [100 * MIB, 200 * MIB]) {
      const spool = await openSpoolOn(nats, { ...PLENTY, bytes })
      expect(await spool.describe()).toMatchObject({ maxBytes: bytes })
      await spool.close()
    }
  })

  it.each(['2.9.10', '2.10.22', '2.12.2'])(
    'rejects the version %s, which may lose entries',
    async (version) => {
      await using nats = await startOldNats(version)
      await expect(openSpoolOn(nats)).rejects.toThrow(
        new RegExp(
          `runs nats-server ${version.replaceAll('.', '\\.')}, which can.*; install 2\\.12\\.3 or newer`,
        ),
      )
    },
  )
})

async function drain(spool: Spool, taken: string[], goesOn: () => boolean | Promise<boolean>): Promise<void> {
  do {
    const leases = await spool.take(64, LONG_MS, ALL).catch(() => [])
    if (leases.length === 0) await sleep(POLL_MS)
    for (const lease of leases) {
      taken.push(lease.key)
      await spool.finish(lease)
    }
  } while (await Promise.resolve(goesOn()).catch(() => true))
}

async function manage({ server }: Nats) {
  const nc = await connect({ servers: server })
  return { nc, jsm: await jetstreamManager(nc) }
}
