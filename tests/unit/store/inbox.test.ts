/** Envelopes that the spool keeps for reading. */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import type { InboxEntry } from '../../../contract/inbox.ts'
import { purgeKept, readKept } from '../../../tunnel/src/admin/stored-entries.ts'
import type { Config } from '../../../tunnel/src/config/config.ts'
import type { Spool, SpoolBounds, Summaries } from '../../../tunnel/src/pipeline/spool.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { attachmentOf, envelopeOf, errorOf, type Part } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { inOne, spoolEntryOf } from '../../support/spool/entries.ts'
import { openInThisThread } from '../../support/spool/same-thread.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { settingsOf } from '../../support/tunnel/running.ts'

const KIB = 1024
const MIB = 1024 * KIB
const HOUR_MS = 3_600_000
const ROOMY = { bytes: 64 * MIB, ageMs: HOUR_MS }

const partOf = (type: string, payload = '{}'): Part => ({ header: { type }, payload })

describe('The inbox', () => {
  let started: AsyncDisposableStack
  let folder: string
  let spool: Spool

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    folder = started.use(await makeFolder()).path
  })

  afterEach(() => started.disposeAsync())

  async function open(kept: NonNullable<SpoolBounds['kept']> = ROOMY): Promise<Summaries> {
    const bounds = { bytes: 64 * MIB, addressShare: 1, projectShare: 1, kept }
    spool = started.adopt(
      await openSqliteSpool(join(folder, 'spool.db'), bounds, () => {}, openInThisThread),
      (it) => it.close(),
    )
    if (!spool.summaries) throw new Error('the spool keeps nothing')
    return spool.summaries
  }

  const count = async () => (await spool.entries.count({ states: ['kept'] })).entries

  async function keep(receipt: string, parts = [partOf('event')]): Promise<Buffer> {
    const body = envelopeOf({ dsn: INBOX_DSN, event_id: receipt.padStart(32, '0') }, parts)
    const entry = { ...(await spoolEntryOf(body)), receipt, received: Date.now() }
    expect(await spool.entries.keep(entry, inOne(body), { state: 'kept', status: 200 })).toBe('stored')
    return body
  }

  const idsIn = ({ entries }: { entries: readonly InboxEntry[] }) => entries.map(({ id }) => id)

  it.each([10, 2 * MIB])(
    'returns the requested number of first bytes of an envelope of %d',
    async (bytes) => {
      const inbox = await open()
      const body = await keep('a', [partOf('attachment', 'x'.repeat(bytes))])
      const entry = await inbox.find('a')
      if (!entry) throw new Error('it is not there')
      for (const first of [3, body.length, body.length + 1])
        expect((await readKept(spool, entry, first)).equals(body.subarray(0, first))).toBe(true)
    },
  )

  it('summarises an envelope whose body is a file', async () => {
    const inbox = await open()
    const payload = JSON.stringify({ exception: { values: [{ type: 'RangeError', value: 'basket' }] } })
    await keep('a', [partOf('attachment', 'x'.repeat(2 * MIB)), partOf('event', payload)])
    expect(await inbox.list(10)).toMatchObject({
      entries: [{ types: ['attachment', 'event'], title: 'RangeError: basket', is_error: true }],
    })
  })

  it('summarises an envelope that was pending before', async () => {
    const inbox = await open()
    for (const bytes of [10, 2 * MIB]) {
      const body = envelopeOf({ dsn: INBOX_DSN }, [partOf('event'), partOf('attachment', 'x'.repeat(bytes))])
      const put = await spool.put(
        { ...(await spoolEntryOf(body)), receipt: `r-${bytes}` },
        inOne(body),
        60_000,
      )
      if (put.kind !== 'stored') throw new Error(put.kind)
      await spool.finish(put.lease, { state: 'kept', status: 200 })
    }
    expect(await inbox.list(10)).toMatchObject({
      entries: [10, 2 * MIB]
        .toReversed()
        .map((bytes) => ({ id: `r-${bytes}`, types: ['event', 'attachment'] })),
    })
  })

  it('counts the summaries of envelopes towards its maximum size', async () => {
    const inbox = await open({ bytes: 100 * KIB, ageMs: HOUR_MS })
    for (let n = 0; n < 10; n++)
      await keep(
        `${n}`,
        Array.from({ length: 100 }, () => partOf('x'.repeat(64), '')),
      )
    expect(idsIn(await inbox.list(10))).toEqual(['9', '8', '7', '6', '5', '4'])
  })

  it('has no summary of an envelope that gave way to others', async () => {
    const inbox = await open({ bytes: 100 * KIB, ageMs: HOUR_MS })
    for (let n = 0; n < 100; n++) await keep(`${n}`)
    const { entries } = await inbox.list(100)
    expect(entries.length).toBe(await count())
    expect(await inbox.countArrived({ from: 0, until: Infinity })).toBe(entries.length)
    expect(await inbox.find('0')).toBeUndefined()
  })

  it('lists at most 100 item types of an envelope, and 64 characters of each', async () => {
    await using tunnel = await openTunnel()
    const items = Array.from({ length: 1_000 }, () => ({ header: { type: 'x'.repeat(900) }, payload: '' }))
    expect(await post(tunnel.url, { body: envelopeOf({ dsn: INBOX_DSN }, items) })).toMatchObject({
      status: 200,
    })
    const { entries } = await (await tunnel.admin('/inbox')).json()
    expect(entries).toMatchObject([{ types: Array.from({ length: 100 }, () => 'x'.repeat(64)) }])
  })

  it('lists pages that stay correct when an envelope is deleted between them', async () => {
    const inbox = await open()
    for (let n = 0; n < 5; n++) await keep(`${n}`)
    const first = await inbox.list(2)
    const third = await inbox.find('3')
    for (const purged of [1, 0]) expect(third && (await spool.entries.purge({ entry: third }))).toBe(purged)
    const second = await inbox.list(2, { after: first.next })
    const last = await inbox.list(2, { after: second.next })
    expect([first, second, last].map(idsIn)).toEqual([['4', '3'], ['2', '1'], ['0']])
    expect(last).not.toHaveProperty('next')
  })

  it('lists the envelopes that contain an item of the requested type', async () => {
    const inbox = await open()
    for (let n = 0; n < 6; n++)
      await keep(`${n}`, n % 2 ? [partOf('event'), partOf('attachment')] : [partOf('span')])
    const first = await inbox.list(2, { type: 'event' })
    const second = await inbox.list(2, { after: first.next, type: 'event' })
    expect([first, second].map(idsIn)).toEqual([['5', '3'], ['1']])
    expect(idsIn(await inbox.list(2, { type: 'attach' }))).toEqual([])
  })

  it('leaves out envelopes that contain no item of another type than the hidden one', async () => {
    const inbox = await open()
    const report = 'client_report'
    const all = [[report], ['event'], [report, report], ['event', report], [`,"${report}"`]]
    for (const [n, types] of all.entries())
      await keep(
        `${n}`,
        types.map((type) => partOf(type)),
      )
    const first = await inbox.list(2, { hidden: report })
    const second = await inbox.list(2, { after: first.next, hidden: report })
    expect([first, second].map(idsIn)).toEqual([['4', '3'], ['1']])
  })

  it('deletes all envelopes that it has, and none that arrives later', async () => {
    const inbox = await open()
    for (let n = 0; n < 240; n++) await keep(`${n}`)
    expect(await purgeKept(spool)).toBe(240)
    expect(await count()).toBe(0)
    expect(await purgeKept(spool)).toBe(0)
    await keep('later')
    expect(idsIn(await inbox.list(10))).toEqual(['later'])
  })

  it('deletes envelopes through the admin port, and writes an audit log', async () => {
    await using tunnel = await openTunnel()
    for (let n = 0; n < 3; n++) await post(tunnel.url, { body: errorOf(INBOX_DSN) })
    const ask = async (method: 'GET' | 'DELETE' | 'PUT', path: string) => {
      const headers = { authorization: `Bearer ${tunnel.token}` }
      return post(tunnel.adminUrl, { method, path, headers })
    }
    const { entries } = (await ask('GET', '/inbox')).json as { entries: InboxEntry[] }
    const path = `/inbox/${entries[0]?.id}`
    const page = await ask('GET', '/inbox?limit=2')
    expect(page.json).toMatchObject({ entries: entries.slice(0, 2), next: expect.any(Number) })
    const { next } = page.json as { next: number }
    expect((await ask('GET', `/inbox?limit=2&after=${next}`)).json).toEqual({ entries: entries.slice(2) })
    for (const query of ['limit=0', 'limit=201', 'limit=x', 'after=x'])
      expect(await ask('GET', `/inbox?${query}`)).toMatchObject({ status: 400 })
    for (const [method, stray] of [
      ['GET', '/inbox?limit=1&limit=2'],
      ['DELETE', '/inbox?all&project=x'],
      ['DELETE', `${path}?all`],
    ] as const)
      expect(await ask(method, stray)).toMatchObject({
        status: 400,
        json: { detail: expect.stringMatching(/is not a parameter|given twice/) },
      })
    expect(await ask('GET', `${path}?of-newer=web`)).toMatchObject({ status: 200 })
    expect((await ask('GET', '/inbox?of-newer=web&limit=1')).json).toMatchObject({ entries: [{}] })
    expect(await ask('DELETE', path)).toMatchObject({ status: 200, json: { deleted: 1, left: 2 } })
    expect(await ask('DELETE', path)).toMatchObject({ status: 404 })
    expect(await ask('DELETE', '/inbox')).toMatchObject({ status: 400 })
    expect(await ask('PUT', path)).toMatchObject({ status: 405, headers: { allow: 'GET, DELETE' } })
    expect(await ask('DELETE', '/inbox?all')).toMatchObject({ status: 200, json: { deleted: 2, left: 0 } })
    await tunnel.log(({ audit: act }) => (act as { envelopes?: number })?.envelopes === 2)
    expect(tunnel.logs.flatMap(({ audit: act }) => act ?? [])).toMatchObject([
      { action: 'inbox-read', id: entries[0]?.id, client_address: '127.0.0.1' },
      { action: 'inbox-delete', id: entries[0]?.id, envelopes: 1, client_address: '127.0.0.1' },
      { action: 'inbox-delete', envelopes: 2, client_address: '127.0.0.1' },
    ])
  })

  it('keeps all errors of one address while another address floods it', async () => {
    await using tunnel = await openTunnel({ env: { ADDRESS_RATE: '0' }, adjust: keepingBytes(20 * MIB) })
    const from = (address: string, body: Buffer) =>
      post(tunnel.url, { headers: { 'x-forwarded-for': address }, body })
    const honest = Array.from({ length: 5 }, (_, n) =>
      errorOf(INBOX_DSN, { event_id: `${n}`.padStart(32, '0') }),
    )
    for (const body of honest) expect(await from('198.51.100.9', body)).toMatchObject({ status: 200 })
    for (let n = 0; n < 30; n++)
      await from('2001:db8:0:1::7', attachmentOf(INBOX_DSN, Buffer.alloc(0.75 * MIB, n)))
    const { entries } = await (await tunnel.admin('/inbox')).json()
    expect(entries.map(({ types }: InboxEntry) => types)).toEqual([
      ['attachment'],
      ...honest.map(() => ['event']),
    ])
  })
})

describe('Without a DSN, a tunnel', () => {
  it('answers 503 with the reason when the file of an envelope is lost', async () => {
    await using folder = await makeFolder()
    await using tunnel = await openTunnel({ env: settingsOf(folder.path) })
    const body = attachmentOf(INBOX_DSN, Buffer.alloc(2 * MIB))
    expect(await post(tunnel.url, { body })).toMatchObject({ status: 200 })
    const { entries } = await (await tunnel.admin('/inbox')).json()
    rmSync(join(folder.path, 'entries'), { recursive: true })
    const response = await tunnel.admin(`/inbox/${entries[0].id}`)
    expect(response.status).toBe(503)
    expect((await response.json()).detail).toContain('no such file')
  })

  it('rejects an envelope that the inbox cannot store', async () => {
    await using folder = await makeFolder()
    await using tunnel = await openTunnel({ env: settingsOf(folder.path) })
    refuseAll(folder.path)
    const heard = await post(tunnel.url, { body: errorOf(INBOX_DSN) })
    expect(heard).toMatchObject({ status: 503, json: { code: 'spool-unwritable' } })
  })

  it('rejects an envelope above the share of one address, and spools none of it', async () => {
    await using tunnel = await openTunnel({ adjust: keepingBytes(20 * MIB) })
    await tunnel.admin('/inbox/outage', { method: 'POST' })
    const send = (bytes: number) =>
      post(tunnel.url, {
        headers: { 'x-forwarded-for': '198.51.100.9' },
        body: attachmentOf(INBOX_DSN, Buffer.alloc(bytes)),
      })
    expect(await send(MIB)).toMatchObject({ status: 413, json: { code: 'envelope-too-large' } })
    expect(await tunnel.services.forwarding.spool.totals()).toMatchObject({ envelopes: 0 })
    await tunnel.admin('/inbox/outage', { method: 'DELETE' })
    expect(await send(0.9 * MIB)).toMatchObject({ status: 200 })
    expect(await tunnel.services.forwarding.spool.store.entries.count({})).toMatchObject({ entries: 1 })
  })
})

describe('With a DSN and KEEP_HOURS, a tunnel', () => {
  const started = { env: { KEEP_HOURS: '24' } }
  const titlesIn = async (tunnel: Tunnel) => {
    await tunnel.services.ingest.idle() // envelopes are kept after the response
    const { entries } = await (await tunnel.admin('/inbox')).json()
    return entries.map(({ types }: InboxEntry) => types.join())
  }

  it('keeps errors and feedback that Sentry has accepted', async () => {
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({ env: { ...started.env, SENTRY_DSN: sentry.dsn() } })
    const send = (type: string, payload = '{}') =>
      post(tunnel.url, { body: envelopeOf({ dsn: sentry.dsn() }, [partOf(type, payload)]) })
    for (const type of ['event', 'feedback', 'transaction', 'session'])
      expect((await send(type)).status).toBe(200)
    sentry.answer({ status: 400, body: '{"detail":"invalid"}' })
    expect((await send('event', '{"message":"declined"}')).status).toBe(400)
    expect(await titlesIn(tunnel)).toEqual(['feedback', 'event'])
  })

  it('keeps an error from the spool once it is delivered', async () => {
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({ env: { ...started.env, SENTRY_DSN: sentry.dsn() } })
    sentry.answer({ status: 503 })
    const body = errorOf(sentry.dsn())
    expect((await post(tunnel.url, { body })).outcome).toBe('spooled')
    expect(await titlesIn(tunnel)).toEqual([])
    sentry.answer({ status: 200 })
    await tunnel.retry()
    await expect.poll(() => titlesIn(tunnel)).toEqual(['event'])
    const { entries } = await (await tunnel.admin('/inbox')).json()
    expect(await (await tunnel.admin(`/inbox/${entries[0].id}`)).text()).toBe(String(body))
  })

  it.each([undefined, 'gzip'])(
    'keeps no legacy secret of a DSN, and Sentry gets none (%s)',
    async (encoding) => {
      await using sentry = await startSentry()
      await using tunnel = await openTunnel({ env: { ...started.env, SENTRY_DSN: sentry.dsn() } })
      const dsn = sentry.dsn().replace('@', ':legacysecret@')
      const plain = errorOf(dsn)
      const body = encoding === undefined ? plain : gzipSync(plain)
      const headers = encoding === undefined ? {} : { 'content-encoding': encoding }
      expect(await post(tunnel.url, { body, headers })).toMatchObject({ status: 200 })
      const received = await sentry.next()
      expect(received.header.dsn).toBe(sentry.dsn())
      expect(String(received.decoded)).toBe(String(plain).replace(':legacysecret', ''))
      expect(await titlesIn(tunnel)).toEqual(['event'])
      const { entries } = await (await tunnel.admin('/inbox')).json()
      const stored = await (await tunnel.admin(`/inbox/${entries[0]?.id}`)).text()
      expect(stored).toBe(String(received.decoded))
    },
  )

  it('does not change the response when it cannot keep an envelope that Sentry accepts', async () => {
    await using folder = await makeFolder()
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({
      env: settingsOf(folder.path, { ...started.env, SENTRY_DSN: sentry.dsn() }),
    })
    refuseAll(folder.path)
    expect(await post(tunnel.url, { body: errorOf(sentry.dsn()) })).toMatchObject({ status: 200 })
    await tunnel.log(({ msg }) => msg === 'the spool failed')
    expect(sentry.requests).toHaveLength(1)
  })
})

it('Without KEEP_HOURS, a tunnel with a DSN keeps nothing', async () => {
  await using folder = await makeFolder()
  await using sentry = await startSentry()
  await using tunnel = await openTunnel({ env: settingsOf(folder.path, { SENTRY_DSN: sentry.dsn() }) })
  expect((await post(tunnel.url, { body: errorOf(sentry.dsn()) })).status).toBe(200)
  await tunnel.services.ingest.idle()
  expect((await tunnel.admin('/inbox')).status).toBe(404)
  const db = new DatabaseSync(join(folder.path, 'spool.db'))
  expect(db.prepare('SELECT count(*) AS entries FROM entries').get()).toEqual({ entries: 0 })
  db.close()
})

/** Makes every insert fail, as on a full disk. */
function refuseAll(folder: string): void {
  const db = new DatabaseSync(join(folder, 'spool.db'))
  db.exec(`CREATE TRIGGER full BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'full'); END`)
  db.close()
}

function keepingBytes(bytes: number) {
  return (config: Config): Config => ({ ...config, keep: config.keep && { ...config.keep, bytes } })
}
