/** Kept entries in streams of NATS, as people read them on any replica. */

import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, headers as newHeaders } from '@nats-io/transport-node'
import { describe, expect } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { purgeKept, readKept } from '../../../tunnel/src/admin/stored-entries.ts'
import type { Spool, SpoolEntry, Summaries } from '../../../tunnel/src/pipeline/spool.ts'
import { HEADER } from '../../../tunnel/src/store/jetstream/codec.ts'
import { attachmentOf, envelopeOf, errorOf, type Part } from '../../support/envelopes.ts'
import { it } from '../../support/nats/fixtures.ts'
import type { Nats } from '../../support/nats/nats.ts'
import { post } from '../../support/post.ts'
import { requires } from '../../support/requirements.ts'
import { inOne, PLENTY, PROJECT, spoolEntryOf } from '../../support/spool/entries.ts'
import { openSpoolOn } from '../../support/spool/jetstream-spool.ts'
import { takeAll } from '../../support/spool/operations.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

const MIB = 1024 * 1024
const KEPT = { state: 'kept', status: 200 } as const
const BOUNDS = { ...PLENTY, kept: { bytes: 64 * MIB, ageMs: 24 * 60 * 60 * 1000 } }

describe('Tunnels without a DSN, on NATS', requires('nats'), () => {
  it('store envelopes in one inbox, which each of them shows', async ({ nats }) => {
    const env = { SPOOL_URL: `nats://${nats.server}` }
    await using tunnel = await openTunnel({ env })
    await using other = await openTunnel({ env })
    const body = errorOf(INBOX_DSN)
    for (let n = 0; n < 2; n++) expect(await post(tunnel.url, { body })).toMatchObject({ status: 200 })
    const { groups } = await (await other.admin('/inbox/groups')).json()
    expect(groups).toMatchObject([{ envelopes: 2, newest: { title: 'hello world' } }])
    const { entries } = await (await other.admin('/inbox')).json()
    expect(await (await other.admin(`/inbox/${entries[0].id}`)).text()).toBe(String(body))
  })
})

describe('Kept entries on NATS', requires('nats'), () => {
  it('are found by their text and grouped on every replica, also while they are added', async ({ nats }) => {
    const [spool, other] = [await openSpoolOn(nats, BOUNDS), await openSpoolOn(nats, BOUNDS)]
    const [inbox, another] = [inboxOf(spool), inboxOf(other)]
    const first = await keep(spool, messageOf('first thing'))
    expect(titlesIn(await another.list(10))).toEqual(['first thing'])
    const second = await keep(other, messageOf('second thing'))
    const third = await keep(spool, messageOf('second thing'))
    for (const each of [inbox, another]) {
      expect((await each.list(10)).entries.map(({ id }) => id)).toEqual([third, second, first].map(receiptOf))
      expect(titlesIn(await each.list(10, { search: 'FIRST' }))).toEqual(['first thing'])
      const { groups } = await each.groups(10)
      expect(groups.map(({ newest, envelopes }) => [newest.title, envelopes])).toEqual([
        ['second thing', 2],
        ['first thing', 1],
      ])
    }
    const page = await inbox.list(2)
    expect((await another.list(2, { after: page.next })).entries.map(({ id }) => id)).toEqual([first.receipt])
    await Promise.all([spool.close(), other.close()])
  })

  it.for([1_000, 3 * MIB])('with an attachment of %i bytes are read in whole', async (bytes, { nats }) => {
    const spool = await openSpoolOn(nats, BOUNDS)
    const body = envelopeOf({ dsn: PROJECT }, [
      partOf('event', { message: 'beside an attachment' }),
      { header: { type: 'attachment', length: bytes, filename: 'a.bin' }, payload: Buffer.alloc(bytes, 1) },
    ])
    const { receipt } = await keep(spool, body)
    const other = await openSpoolOn(nats, BOUNDS)
    const [found] = (await inboxOf(other).list(10)).entries
    expect(found).toMatchObject({
      id: receipt,
      title: 'beside an attachment',
      types: ['event', 'attachment'],
    })
    const entry = await inboxOf(other).find(receipt)
    expect(entry && body.equals(await readKept(other, entry))).toBe(true)
    await spool.close()
  })

  it('are kept with their summaries after their delivery from the spool', async ({ nats }) => {
    const spool = await openSpoolOn(nats, BOUNDS)
    const body = errorOf(PROJECT)
    await spool.put(await spoolEntryOf(body), inOne(body), 0)
    for (const lease of await takeAll(spool, 1)) await spool.finish(lease, KEPT)
    expect(titlesIn(await inboxOf(spool).list(10))).toEqual(['hello world'])
    expect(await inboxOf(spool).countArrived({ from: 0, until: Date.now() })).toBe(1)
    await spool.close()
  })

  it('are gone on every replica once one has deleted them', async ({ nats }) => {
    const [spool, other] = [await openSpoolOn(nats, BOUNDS), await openSpoolOn(nats, BOUNDS)]
    const [inbox, another] = [inboxOf(spool), inboxOf(other)]
    await keep(spool, messageOf('first'))
    const second = await keep(spool, messageOf('second'))
    const third = await keep(spool, messageOf('third'))
    for (const each of [inbox, another])
      expect(titlesIn(await each.list(10))).toEqual(['third', 'second', 'first'])
    const found = await another.find(second.receipt)
    expect(found && (await other.entries.purge({ entry: found }))).toBe(1)
    expect(titlesIn(await another.list(10))).toEqual(['third', 'first'])
    await expect.poll(async () => titlesIn(await inbox.list(10))).toEqual(['third', 'first'])
    expect(await inbox.find(second.receipt)).toBeUndefined()
    expect(await purgeKept(spool)).toBe(2)
    await expect.poll(() => another.find(third.receipt)).toBeUndefined()
    await Promise.all([spool.close(), other.close()])
  })

  it('are gone when the server has dropped them', async ({ nats }) => {
    const spool = await openSpoolOn(nats, BOUNDS)
    await keep(spool, messageOf('first'))
    expect(titlesIn(await inboxOf(spool).list(10))).toEqual(['first'])
    await purge(nats)
    expect(titlesIn(await inboxOf(spool).list(10))).toEqual([])
    await spool.close()
  })

  it('are read again after the connection was lost, when replicas did not hear what others deleted', async ({
    nats,
  }) => {
    const spool = await openSpoolOn(nats, BOUNDS)
    await keep(spool, messageOf('first'))
    const { key } = await keep(spool, messageOf('second'))
    await keep(spool, messageOf('third'))
    expect(titlesIn(await inboxOf(spool).list(10))).toEqual(['third', 'second', 'first'])
    await purge(nats, `culvert.kept.*.*.*.${key}`)
    await nats.kill()
    await nats.start()
    const titles = async () => titlesIn(await inboxOf(spool).list(10))
    await expect.poll(() => titles().catch(() => [])).toEqual(['third', 'first'])
    await spool.close()
  })

  it('are listed also when another release has added to their summaries', async ({ nats }) => {
    const spool = await openSpoolOn(nats, BOUNDS)
    const { key } = await keep(spool, messageOf('of a later release'))
    const nc = await connect({ servers: nats.server })
    const { streams } = await jetstreamManager(nc)
    const stored = await streams.getMessage('CULVERT_KEPT', { last_by_subj: `culvert.kept.entry.*.*.${key}` })
    const line = JSON.parse(stored?.header.get(HEADER) ?? '')
    const headers = newHeaders()
    headers.set(HEADER, JSON.stringify({ ...line, summary: { ...line.summary, added: 1 } }))
    await jetstream(nc).publish(stored?.subject ?? '', '', { headers })
    await nc.close()
    expect(titlesIn(await inboxOf(spool).list(10))).toEqual(['of a later release'])
    await spool.close()
  })

  it('do not exist on a spool that keeps none', async ({ nats }) => {
    const spool = await openSpoolOn(nats)
    expect(spool.summaries).toBeUndefined()
    const body = attachmentOf(PROJECT, Buffer.alloc(10))
    expect(await spool.entries.keep(await spoolEntryOf(body), inOne(body), KEPT)).toBe('too-large')
    await spool.close()
  })
})

async function purge({ server }: Nats, filter = '>'): Promise<void> {
  const nc = await connect({ servers: server })
  await (await jetstreamManager(nc)).streams.purge('CULVERT_KEPT', { filter })
  await nc.close()
}

function inboxOf({ summaries }: Spool): Summaries {
  if (!summaries) throw new Error('the spool keeps nothing')
  return summaries
}

async function keep(spool: Spool, body: Buffer): Promise<SpoolEntry> {
  const entry = await spoolEntryOf(body)
  expect(await spool.entries.keep(entry, inOne(body), KEPT)).toBe('stored')
  return entry
}

let made = 0

function messageOf(message: string): Buffer {
  return envelopeOf({ dsn: PROJECT }, [partOf('event', { message, extra: { made: made++ } })])
}

function partOf(type: string, payload: object): Part {
  const text = JSON.stringify(payload)
  return { header: { type, length: text.length }, payload: text }
}

const receiptOf = ({ receipt }: SpoolEntry) => receipt
const titlesIn = ({ entries }: { entries: readonly { title: string }[] }) => entries.map(({ title }) => title)
