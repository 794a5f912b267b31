/** Entries whose delivery has ended, in streams of NATS: moves that are interrupted, and streams that cannot be created. */

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstream, jetstreamManager, type StreamConfig } from '@nats-io/jetstream'
import { connect, nanos } from '@nats-io/transport-node'
import { describe, expect } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import type { Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { it } from '../../support/nats/fixtures.ts'
import { startNats } from '../../support/nats/nats.ts'
import { NODE } from '../../support/node.ts'
import { requires } from '../../support/requirements.ts'
import { inOne, PLENTY, spoolEntryOf } from '../../support/spool/entries.ts'
import { openSpoolOn } from '../../support/spool/jetstream-spool.ts'
import { keysOf, putOne, store, takeAll } from '../../support/spool/operations.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'

const MIB = 1024 * 1024
const MANY = 300
const PAGE = { limit: 10 * MANY }
const KEEPING = { ...PLENTY, kept: { bytes: 64 * MIB, ageMs: 60_000 } }
const SEALED: Partial<StreamConfig> = { sealed: true } // the server stores nothing, and removes nothing
const DECLINED = { state: 'declined', status: 400 } as const
const DECLINER = new URL('../../support/spool/decliner-process.ts', import.meta.url).pathname

describe('Entries whose delivery has ended, on NATS', requires('nats'), () => {
  it('are each pending or a dead letter after their tunnel was killed', async ({ nats }) => {
    const spool = await openSpoolOn(nats)
    const put = await Promise.all(Array.from({ length: MANY }, () => store(spool, { bytes: 3_300 })))
    const decliner = spawn(NODE, [DECLINER, nats.server, String(MANY)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let told = 0 // lines
    for await (const chunk of decliner.stdout) {
      told += String(chunk).split('\n').length - 1
      if (told >= MANY / 3) break
    }
    decliner.kill('SIGKILL')
    const [pending, dead] = [await keysOfPending(spool), keysOf(await spool.entries.list({}, PAGE))]
    expect(told).toBeGreaterThan(0)
    expect(dead.length).toBeGreaterThanOrEqual(told)
    expect(pending.length).toBeGreaterThan(0)
    expect(new Set(dead).size).toBe(dead.length)
    expect([...new Set([...pending, ...dead])].sort()).toEqual(keysOf(put).sort())
    await spool.close()
  })

  it('are each pending or a dead letter after the server was away', async ({ nats }) => {
    const spool = await openSpoolOn(nats)
    const put = await Promise.all(Array.from({ length: 40 }, () => store(spool, { bytes: 600_000 })))
    const leases = await takeAll(spool, put.length)
    await nats.kill()
    const ended = leases.map((lease) => spool.finish(lease, DECLINED))
    await expect(spool.totals()).rejects.toThrow(/^NATS does not answer/) // a request waits no longer
    await nats.start()
    expect(await Promise.all(ended)).toEqual(put.map(() => true))
    const dead = await spool.entries.list({}, PAGE)
    expect(keysOf(dead).sort()).toEqual(keysOf(put).sort())
    expect(dead.filter(({ isStored }) => !isStored)).toEqual([])
    await spool.close()
  })

  it('are gone without a dead letter when the server has no room for their streams', async () => {
    await using folder = await makeMemoryFolder()
    const config = join(folder.path, 'nats.conf')
    await writeFile(config, 'jetstream { max_file_store: 70MiB, sync_interval: always }\n')
    await using nats = await startNats({ config })
    const notices: string[] = []
    const bounds = { ...KEEPING, bytes: 64 * MIB }
    const spool = await openSpoolOn(nats, bounds, Date.now, undefined, (notice) => notices.push(notice))
    for (let n = 0; n < 2; n++) await store(spool)
    for (const lease of await takeAll(spool, 2)) expect(await spool.finish(lease, DECLINED)).toBe(true)
    expect(await spool.entries.list({}, PAGE)).toEqual([])
    expect((await spool.totals()).envelopes).toBe(0)
    expect(notices).toEqual([
      expect.stringMatching(
        /no room for the stream CULVERT_DEAD_LETTER\w+ of .*; lower SPOOL_BYTES, or raise/,
      ),
    ])
    const { entry, body, result } = await putOne(spool)
    expect(result.kind).toBe('stored')
    await expect(spool.entries.keep(entry, inOne(body), { state: 'kept' })).rejects.toThrow(
      /lower SPOOL_BYTES/,
    )
    await spool.close()
  })

  it('stay also while the entries of their network cannot be counted', async ({ nats }) => {
    const nc = await connect({ servers: nats.server })
    const { streams, consumers } = await jetstreamManager(nc)
    const name = 'CULVERT_DEAD_LETTERS'
    await streams.add({ name, subjects: ['culvert.dead.entry.>'], storage: 'file', max_consumers: 1 })
    await consumers.add(name, { durable_name: 'taken' }) // no other one can be created to read the lines
    const spool = await openSpoolOn(nats)
    await store(spool)
    for (const lease of await takeAll(spool, 1)) expect(await spool.finish(lease, DECLINED)).toBe(true)
    expect((await streams.info(name)).state.messages).toBe(1)
    await spool.close()
    await nc.close()
  })

  it('are told as pending although a later one of the same call cannot be stored', async ({ nats }) => {
    const spool = await openSpoolOn(nats)
    for (const bytes of [100, 5_000]) {
      await store(spool, { bytes })
      for (const lease of await takeAll(spool, 1)) await spool.finish(lease, DECLINED)
    }
    const [large, small] = await spool.entries.list({}, PAGE)
    const nc = await connect({ servers: nats.server })
    const { streams } = await jetstreamManager(nc)
    await streams.update('CULVERT_SPOOL_ERRORS', { max_msg_size: 4_000 })
    await nc.close()
    const { entries, isOver } = await spool.entries.resend({}, 3)
    expect({ keys: keysOf(entries), isOver }).toEqual({ keys: [small?.key], isOver: false })
    expect(await keysOfPending(spool)).toEqual([small?.key])
    expect(await spool.entries.list({}, PAGE)).toMatchObject([{ key: large?.key }])
    await spool.close()
  })

  it.for([
    ['declined', 'CULVERT_DEAD_LETTER_BODIES'],
    ['kept', 'CULVERT_KEPT'],
  ] as const)(
    'that are %s are told as pending although %s cannot be changed',
    async ([state, stream], { nats }) => {
      const spool = await openSpoolOn(nats, KEEPING)
      const { key } = await store(spool)
      for (const lease of await takeAll(spool, 1)) await spool.finish(lease, { state, status: 200 })
      const nc = await connect({ servers: nats.server })
      await (await jetstreamManager(nc)).streams.update(stream, SEALED)
      await nc.close()
      expect(keysOf((await spool.entries.resend({}, 3)).entries)).toEqual([key])
      expect(await keysOfPending(spool)).toEqual([key])
      await spool.close()
    },
  )

  it.for([100, 600_000])(
    'of %i bytes are passed by, with a notice, when their body was cut',
    async (bytes, { nats }) => {
      const notices: string[] = []
      const spool = await openSpoolOn(nats, PLENTY, Date.now, undefined, (notice) => notices.push(notice))
      for (let n = 0; n < 3; n++) {
        await store(spool, { bytes })
        for (const lease of await takeAll(spool, 1)) await spool.finish(lease, DECLINED)
      }
      const [third, cut, first] = await spool.entries.list({}, PAGE)
      const nc = await connect({ servers: nats.server })
      await jetstream(nc).publish(`culvert.dead.body.${cut?.key}.${bytes > 100 ? 1 : 0}`, 'cut')
      await nc.close()
      const { entries, after } = await spool.entries.resend({}, 3)
      expect(keysOf(entries)).toEqual([first?.key, third?.key])
      expect(await spool.entries.resend({}, 3, after)).toMatchObject({ entries: [], isOver: true })
      expect(notices).toEqual([expect.stringContaining(`The body ${cut?.key} of a spool entry has `)])
      await spool.close()
    },
  )

  it('stay pending when the server has no room for the inbox, their only destination', async () => {
    await using folder = await makeMemoryFolder()
    const config = join(folder.path, 'nats.conf')
    await writeFile(config, 'jetstream { max_file_store: 70MiB, sync_interval: always }\n')
    await using nats = await startNats({ config })
    const spool = await openSpoolOn(nats, { ...KEEPING, bytes: 64 * MIB })
    const { key } = await store(spool, { project: INBOX_DSN })
    const wanted = [{ project: INBOX_DSN, rateLimitedCategories: [] }]
    for (let attempts = 1; attempts <= 2; attempts++) {
      const [lease] = await takeAll(spool, 1, undefined, wanted)
      expect(lease).toMatchObject({ key, attempts })
      if (!lease) break
      await expect(spool.finish(lease, { state: 'kept', status: 200 })).rejects.toThrow(/lower SPOOL_BYTES/)
      await spool.postpone(lease, Date.now())
    }
    expect((await spool.totals()).envelopes).toBe(1)
    await spool.close()
  })

  it('have the bounds of the replicas that keep them after another one has resent them', async ({ nats }) => {
    const bounds = { ...PLENTY, kept: { bytes: MIB, ageMs: 60_000 } }
    const [keeping, other] = await Promise.all([openSpoolOn(nats, bounds), openSpoolOn(nats)])
    const { entry, body } = await putOne(keeping)
    expect(await keeping.entries.keep({ ...entry, key: 'kept' }, inOne(body), { state: 'kept' })).toBe(
      'stored',
    )
    expect(keysOf((await other.entries.resend({}, 1)).entries)).toEqual(['kept'])
    const nc = await connect({ servers: nats.server })
    const { config } = await (await jetstreamManager(nc)).streams.info('CULVERT_KEPT')
    expect(config).toMatchObject({ max_bytes: MIB, max_age: nanos(60_000) })
    await Promise.all([nc, keeping, other].map((each) => each.close()))
  })

  it('that are kept are bounded in number, however small they are', async ({ nats }) => {
    const spool = await openSpoolOn(nats, { ...PLENTY, kept: { bytes: MIB / 8, ageMs: 60_000 } })
    for (let n = 0; n < 150; n++) {
      const body = randomBytes(10)
      const entry = await spoolEntryOf(body, { key: `kept-${n}`, network: `203.0.${n}.1` })
      expect(await spool.entries.keep(entry, inOne(body), { state: 'kept' })).toBe('stored')
    }
    const keys = keysOf(await spool.entries.list({}, { limit: 1_000 }))
    expect(keys[0]).toBe('kept-149')
    expect(keys.length).toBeLessThanOrEqual(96)
    await spool.close()
  })

  it('leave a line if the body of the pending entry was cut', async ({ nats }) => {
    const spool = await openSpoolOn(nats)
    const cut = await Promise.all(Array.from({ length: 2 }, () => putCut(spool)))
    const [lease] = await takeAll(spool, 1)
    expect(lease && (await spool.finish(lease, DECLINED))).toBe(true)
    expect(await spool.expire(Infinity)).toHaveLength(1)
    const dead = await spool.entries.list({}, PAGE)
    expect(keysOf(dead).sort()).toEqual(cut.sort())
    expect(dead).toMatchObject([
      { state: 'expired', isStored: false },
      { isStored: false, ...DECLINED },
    ])
    expect((await spool.totals()).envelopes).toBe(0)
    await spool.close()
  })

  it('leave a line if the object of the pending entry is lost, unless another replica has settled it', async ({
    nats,
  }) => {
    const [spool, other] = await Promise.all([openSpoolOn(nats), openSpoolOn(nats)])
    for (let n = 0; n < 2; n++) await store(spool, { bytes: 600_000 })
    const [lost, settled] = await takeAll(spool, 2)
    if (!lost || !settled) throw new Error('they are not leased')
    expect(await other.purge({ entry: settled })).toHaveLength(1)
    const nc = await connect({ servers: nats.server })
    await (await jetstreamManager(nc)).streams.purge('OBJ_CULVERT_SPOOL_ERRORS')
    await nc.close()
    const ended = [lost, settled].map((lease) => spool.finish(lease, DECLINED))
    expect(await Promise.all(ended)).toEqual([true, false])
    expect(await spool.entries.list({}, PAGE)).toMatchObject([{ key: lost.key, isStored: false }])
    await Promise.all([spool.close(), other.close()])
  })

  it('are kept again after an operator deleted their streams', async ({ nats }) => {
    const spool = await openSpoolOn(nats)
    for (let n = 0; n < 2; n++) {
      const { key } = await store(spool)
      for (const lease of await takeAll(spool, 1)) await spool.finish(lease, DECLINED)
      expect(await spool.entries.list({}, PAGE)).toMatchObject([{ key, isStored: true }])
      const nc = await connect({ servers: nats.server })
      const { streams } = await jetstreamManager(nc)
      for (const name of ['CULVERT_DEAD_LETTERS', 'CULVERT_DEAD_LETTER_BODIES']) await streams.delete(name)
      await nc.close()
      expect(await spool.entries.list({}, PAGE)).toEqual([])
    }
    await spool.close()
  })
})

async function putCut(spool: Spool): Promise<string> {
  const body = randomBytes(100)
  const entry = await spoolEntryOf(body)
  await spool.put(entry, inOne(body.subarray(1)), 0)
  return entry.key
}

async function keysOfPending(spool: Spool): Promise<string[]> {
  return keysOf(await spool.list({ order: 'oldest', limit: PAGE.limit }))
}
