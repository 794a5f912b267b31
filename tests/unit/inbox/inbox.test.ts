/** Entries of the inbox, and envelopes that it cannot store. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import type { InboxEntry } from '../../../contract/inbox.ts'
import { networkOf } from '../../../contract/networks.ts'
import { INBOX_BOUNDS, Inbox, type InboxBounds, type NewEntry } from '../../../tunnel/src/inbox/inbox.ts'
import { summarise } from '../../../tunnel/src/inbox/summary.ts'
import { attachmentOf, envelopeOf, errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

const DAY = 24 * 60 * 60 * 1000
const LARGE_BYTES = 10_000_000 // of which one address may store one

describe('The inbox', () => {
  let started: AsyncDisposableStack
  let file: string

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    file = join(started.use(await makeFolder()).path, 'inbox.db')
  })

  afterEach(() => started.disposeAsync())

  function open(bounds: Partial<InboxBounds>, now = () => 0) {
    const all = { envelopes: 100, bytes: 10_000, addressShare: 1, ageMs: DAY, ...bounds }
    return started.adopt(new Inbox(file, all, now), (inbox) => inbox.close())
  }

  const entry = (id: string, time = 0, envelope = Buffer.alloc(10), types = ['event']): NewEntry => {
    const summary = summarise({ id, event_id: null }, [], envelope)
    return { id, time, eventId: null, types, summary, envelope }
  }

  it('keeps the newest envelopes up to its maximum number', () => {
    const inbox = open({ envelopes: 2 })
    for (const id of ['a', 'b', 'c']) inbox.keep(entry(id, 0, Buffer.from(id)), '')
    expect(inbox.list(10).entries.map(({ id }) => id)).toEqual(['c', 'b'])
    expect(inbox.read('a')).toBeUndefined()
    expect(inbox.read('c')?.toString()).toBe('c')
  })

  it('returns the requested number of first bytes of an envelope', () => {
    const inbox = open({})
    inbox.keep(entry('a', 0, Buffer.from('0123456789')), '')
    expect([3, 10, 11].map((first) => inbox.read('a', first)?.toString())).toEqual([
      '012',
      '0123456789',
      '0123456789',
    ])
  })

  it('keeps the newest envelopes up to its maximum size', () => {
    const inbox = open({ bytes: 2_500 })
    for (const id of ['a', 'b', 'c']) inbox.keep(entry(id, 0, Buffer.alloc(1_000)), '')
    expect(inbox.list(10).entries.map(({ id }) => id)).toEqual(['c', 'b'])
  })

  it('counts the summaries of envelopes towards its maximum size', () => {
    const inbox = open({ bytes: 2_500 })
    const title = 'é'.repeat(500) // 1,000 bytes
    for (const id of ['a', 'b', 'c']) {
      const small = entry(id)
      inbox.keep({ ...small, summary: { ...small.summary, title } }, '')
    }
    expect(inbox.list(10).entries.map(({ id }) => id)).toEqual(['c', 'b'])
  })

  it('lists at most 100 item types of an envelope, and 64 characters of each', async () => {
    await using tunnel = await openTunnel({ env: { INBOX_FILE: file } })
    const type = 'x'.repeat(900)
    const items = Array.from({ length: 1_000 }, () => ({ header: { type }, payload: '' }))
    expect(await post(tunnel.url, { body: envelopeOf({ dsn: INBOX_DSN }, items) })).toMatchObject({
      status: 200,
    })
    const { entries } = await (await tunnel.admin('/inbox')).json()
    expect(entries).toMatchObject([{ types: Array.from({ length: 100 }, () => 'x'.repeat(64)) }])
  })

  it('deletes envelopes that exceed the maximum age', () => {
    let now = 0
    const inbox = open({}, () => now)
    inbox.keep(entry('old', 0), '')
    now = 2 * DAY
    inbox.keep(entry('new', now), '')
    expect(inbox.list(10).entries.map(({ id }) => id)).toEqual(['new'])
  })

  it('keeps only the newest envelopes of one address, up to its share, and those of other addresses', () => {
    const inbox = open({ envelopes: 20, bytes: 100_000, addressShare: 0.1 })
    inbox.keep(entry('first'), '198.51.100.9')
    inbox.keep(entry('unknown'), '')
    for (let n = 0; n < 50; n++) inbox.keep(entry(`flood-${n}`), '203.0.113.7')
    expect(inbox.list(100).entries.map(({ id }) => id)).toEqual(['flood-49', 'flood-48', 'unknown', 'first'])
    for (let n = 50; n < 54; n++) inbox.keep(entry(`flood-${n}`, 0, Buffer.alloc(4_500)), '203.0.113.7')
    expect(inbox.list(100).entries.map(({ id }) => id)).toEqual(['flood-53', 'flood-52', 'unknown', 'first'])
  })

  it('keeps twice the share of one address for a /56 of IPv6, and four times for a /48', () => {
    const inbox = open({ envelopes: 100, bytes: 1_000_000, addressShare: 0.05 })
    for (let n = 0; n < 50; n++) inbox.keep(entry(`56-${n}`), networkOf(`2a00:1:1:${n}::1`))
    for (let n = 0; n < 50; n++) inbox.keep(entry(`48-${n}`), networkOf(`2a00:1:2:${n}00::1`))
    const kept = inbox.list(100).entries.map(({ id }) => id.slice(0, 2))
    expect([kept.filter((id) => id === '56').length, kept.filter((id) => id === '48').length]).toEqual([
      10, 20,
    ])
  })

  it('counts addresses whose text begins like another one apart', () => {
    const inbox = open({ envelopes: 20, bytes: 100_000, addressShare: 0.1 })
    for (const address of ['81.2.69.1', '81.2.69.10', '81.2.69.1', '81.2.69.11'])
      inbox.keep(entry(`${address} ${Math.random()}`), address)
    expect(inbox.count()).toBe(4)
  })

  it('rejects an envelope larger than the share of one address, and deletes nothing for it', () => {
    const inbox = open({ addressShare: 0.1 })
    inbox.keep(entry('small'), '203.0.113.7')
    expect(() => inbox.keep(entry('large', 0, Buffer.alloc(1_001)), '203.0.113.7')).toThrow(
      'larger than the share',
    )
    expect(() => inbox.keep(entry('huge', 0, Buffer.alloc(10_001)), '')).toThrow('larger than the share')
    expect(inbox.list(10).entries.map(({ id }) => id)).toEqual(['small'])
  })

  it('lists pages that stay correct when an envelope is deleted between them', () => {
    const inbox = open({})
    for (let n = 0; n < 5; n++) inbox.keep(entry(`${n}`), '')
    const first = inbox.list(2)
    inbox.delete('3')
    const second = inbox.list(2, { after: first.next })
    const third = inbox.list(2, { after: second.next })
    const ids = [first, second, third].map(({ entries }) => entries.map(({ id }) => id))
    expect(ids).toEqual([['4', '3'], ['2', '1'], ['0']])
    expect(third).not.toHaveProperty('next')
  })

  it('lists the envelopes that contain an item of the requested type', () => {
    const inbox = open({})
    for (let n = 0; n < 6; n++)
      inbox.keep({ ...entry(`${n}`), types: n % 2 ? ['event', 'attachment'] : ['span'] }, '')
    const first = inbox.list(2, { type: 'event' })
    const second = inbox.list(2, { after: first.next, type: 'event' })
    expect([first, second].map(({ entries }) => entries.map(({ id }) => id))).toEqual([['5', '3'], ['1']])
    expect(inbox.list(2, { type: 'attach' }).entries).toEqual([])
  })

  it('leaves out envelopes that contain no item of another type than the hidden one', () => {
    const inbox = open({})
    const report = 'client_report'
    const all = [[], [report], ['event'], [report, report], ['event', report], [`,"${report}"`]]
    for (const [n, types] of all.entries()) inbox.keep({ ...entry(`${n}`), types }, '')
    const first = inbox.list(2, { hidden: report })
    const second = inbox.list(2, { after: first.next, hidden: report })
    expect([first, second].map(({ entries }) => entries.map(({ id }) => id))).toEqual([['5', '4'], ['2']])
  })

  it('deletes one envelope, or all 239 that it has at that time', async () => {
    const inbox = open({ envelopes: 1_000, bytes: 1_000_000 })
    for (let n = 0; n < 240; n++) inbox.keep(entry(`${n}`), '')
    expect(inbox.delete('7')).toBe(true)
    expect(inbox.delete('7')).toBe(false)
    expect(inbox.read('7')).toBeUndefined()
    expect(inbox.count()).toBe(239)
    const deleting = inbox.deleteAll()
    inbox.keep(entry('meanwhile'), '')
    expect(await deleting).toBe(239)
    expect(inbox.list(10).entries.map(({ id }) => id)).toEqual(['meanwhile'])
    expect(await inbox.deleteAll()).toBe(1)
    expect(await inbox.deleteAll()).toBe(0)
  })

  it('deletes envelopes through the admin port, and writes an audit log', async () => {
    await using tunnel = await openTunnel({ env: { INBOX_FILE: file } })
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
      ['GET', '/inbox?category=error'],
      ['GET', '/inbox?limit=1&limit=2'],
      ['DELETE', '/inbox?all&project=x'],
      ['DELETE', `${path}?all`],
    ] as const)
      expect(await ask(method, stray)).toMatchObject({
        status: 400,
        json: { detail: expect.stringMatching(/is not a parameter|given twice/) },
      })
    expect(await ask('GET', path)).toMatchObject({ status: 200 })
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

  it('opens a file of a release without the address column', () => {
    const db = new DatabaseSync(file)
    db.exec(`CREATE TABLE inbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, time INTEGER NOT NULL,
      event_id TEXT, bytes INTEGER NOT NULL, types TEXT NOT NULL, envelope BLOB NOT NULL) STRICT;
      INSERT INTO inbox (id, time, bytes, types, envelope) VALUES ('before', 0, 1, '["event"]', x'61')`)
    const inbox = open({})
    inbox.keep(entry('after'), '203.0.113.7')
    const insert =
      'INSERT INTO inbox (id, time, event_id, bytes, types, envelope) VALUES (?, 0, NULL, 1, ?, ?)'
    db.prepare(insert).run('beside', '["event"]', Buffer.from('b')) // as the previous version does on the same file
    db.close()
    expect(inbox.list(10).entries.map(({ id }) => id)).toEqual(['beside', 'after', 'before'])
  })

  it('groups the errors of an earlier release by their cause', async () => {
    open({})
    const db = new DatabaseSync(file)
    const insert = db.prepare(
      'INSERT INTO inbox (id, time, bytes, types, envelope) VALUES (?, 0, 1, \'["event"]\', ?)',
    )
    const exception = { values: [{ type: 'RangeError', value: 'basket' }] }
    const payload = JSON.stringify({ exception })
    for (let n = 0; n < 120; n++)
      insert.run(`${n}`, envelopeOf({ dsn: INBOX_DSN }, [{ header: { type: 'event' }, payload }]))
    insert.run('unreadable', Buffer.from('no envelope'))
    db.close()
    const inbox = open({ envelopes: 1_000 })
    const summarising = inbox.summariseOld()
    inbox.delete('7')
    await summarising
    expect(inbox.groups(10, {}).groups).toMatchObject([
      { envelopes: 1, newest: { title: '["event"]' } },
      { envelopes: 119, newest: { title: 'RangeError: basket', is_error: true } },
    ])
  })

  it('stops summarising when it is closed', async () => {
    const inbox = new Inbox(file, INBOX_BOUNDS, () => 0)
    const db = new DatabaseSync(file)
    db.exec(`INSERT INTO inbox (id, time, bytes, types, envelope) VALUES ('a', 0, 1, '["event"]', x'61')`)
    db.close()
    const summarising = inbox.summariseOld()
    inbox.close()
    await expect(summarising).resolves.toBeUndefined()
  })

  it('opens a file to which a later release has added a column', () => {
    open({}).keep(entry('before'), '')
    const db = new DatabaseSync(file)
    db.exec('ALTER TABLE inbox ADD COLUMN extra TEXT; ALTER TABLE summary ADD COLUMN extra TEXT')
    db.close()
    const inbox = open({})
    inbox.keep(entry('after'), '')
    expect(inbox.list(10).entries.map(({ id }) => id)).toEqual(['after', 'before'])
  })

  it('keeps all errors of one address while another address floods it', async () => {
    await using tunnel = await openTunnel({ env: { INBOX_FILE: file, ADDRESS_RATE: '0' } })
    const from = (address: string, body: Buffer) =>
      post(tunnel.url, { headers: { 'x-forwarded-for': address }, body })
    const honest = Array.from({ length: 5 }, (_, n) =>
      errorOf(INBOX_DSN, { event_id: `${n}`.padStart(32, '0') }),
    )
    for (const body of honest) expect(await from('198.51.100.9', body)).toMatchObject({ status: 200 })
    pretendLarge(INBOX_BOUNDS.bytes - 1.5 * LARGE_BYTES)
    for (let n = 0; n < 3; n++)
      await from('2001:db8:0:1::7', attachmentOf(INBOX_DSN, Buffer.alloc(LARGE_BYTES)))
    const { entries } = await (await tunnel.admin('/inbox')).json()
    expect(entries.map(({ types }: InboxEntry) => types)).toEqual([
      ['attachment'],
      ['span'],
      ...honest.map(() => ['event']),
    ])
  })

  it('makes the tunnel spool what it cannot store while no Sentry is configured', async () => {
    await using tunnel = await openTunnel({ env: { INBOX_FILE: file } })
    refuseAll()
    expect(await post(tunnel.url, { body: errorOf(INBOX_DSN) })).toMatchObject({
      status: 200,
      outcome: 'spooled',
    })
  })

  it('makes the tunnel reject an envelope above the share of one address, and spool none of it', async () => {
    await using tunnel = await openTunnel({ env: { INBOX_FILE: file } })
    await tunnel.admin('/inbox/outage', { method: 'POST' })
    const body = attachmentOf(INBOX_DSN, Buffer.alloc(INBOX_BOUNDS.bytes * INBOX_BOUNDS.addressShare))
    expect(await post(tunnel.url, { headers: { 'x-forwarded-for': '198.51.100.9' }, body })).toMatchObject({
      status: 413,
      json: { code: 'envelope-too-large' },
    })
    expect(await tunnel.services.sentry.spool.totals()).toMatchObject({ envelopes: 0 })
  })

  it.each([undefined, 'gzip'])(
    'holds no legacy secret of a DSN, and Sentry gets none (%s)',
    async (encoding) => {
      await using sentry = await startSentry()
      await using tunnel = await openTunnel({
        env: { SENTRY_DSN: sentry.dsn(), INBOX: 'on', INBOX_FILE: file },
      })
      const dsn = sentry.dsn().replace('@', ':legacysecret@')
      const plain = errorOf(dsn)
      const body = encoding === undefined ? plain : gzipSync(plain)
      const headers = encoding === undefined ? {} : { 'content-encoding': encoding }
      expect(await post(tunnel.url, { body, headers })).toMatchObject({ status: 200 })
      const received = await sentry.next()
      expect(received.header.dsn).toBe(sentry.dsn())
      expect(String(received.decoded)).toBe(String(plain).replace(':legacysecret', ''))
      await expect.poll(async () => (await (await tunnel.admin('/inbox')).json()).entries).toHaveLength(1) // stored after the response
      const { entries } = await (await tunnel.admin('/inbox')).json()
      const stored = await (await tunnel.admin(`/inbox/${entries[0]?.id}`)).text()
      expect(stored).toBe(String(received.decoded))
    },
  )

  it('does not change the response when it cannot store a copy of an envelope that Sentry accepts', async () => {
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({
      env: { SENTRY_DSN: sentry.dsn(), INBOX: 'on', INBOX_FILE: file },
    })
    refuseAll()
    expect(await post(tunnel.url, { body: errorOf(sentry.dsn()) })).toMatchObject({ status: 200 })
    expect(sentry.requests).toHaveLength(1)
  })

  /** Stores an envelope of an unknown sender that counts as `bytes`, so that little room is left. */
  function pretendLarge(bytes: number): void {
    const db = new DatabaseSync(file)
    db.prepare(
      `INSERT INTO inbox (id, time, bytes, types, envelope) VALUES ('large', ?, ?, '["span"]', x'61')`,
    ).run(Date.now(), bytes)
    db.close()
  }

  /** Makes every insert fail, as on a full disk. */
  function refuseAll(): void {
    const db = new DatabaseSync(file)
    db.exec(`CREATE TRIGGER full BEFORE INSERT ON inbox BEGIN SELECT RAISE(ABORT, 'full'); END`)
    db.close()
  }
})
