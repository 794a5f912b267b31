/** Scrubbing as a stage of the pipeline: what Sentry, the spool, the inbox and the log get. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { truncate } from '../../../../tunnel/src/policy/reduce-address.ts'
import { envelopeOf, type Part } from '../../../support/envelopes.ts'
import { type Posting, post } from '../../../support/post.ts'
import { hasItem } from '../../../support/sentry/received-request.ts'
import { startSentry } from '../../../support/sentry/sentry.ts'
import { makeFolder } from '../../../support/temporary-folder.ts'
import { openTunnel } from '../../../support/tunnel/in-process.ts'

const SECRET = 'jane.doe@mail.example'
const EVENT = JSON.stringify({ message: `to ${SECRET}`, extra: { big: '§' } }).replace(
  '"§"',
  '12345678901234567890',
)
const event = (payload = EVENT, more: object = { length: Buffer.byteLength(payload) }): Part => ({
  header: { type: 'event', ...more },
  payload,
})
const attachment: Part = {
  header: { type: 'attachment', length: 3, filename: 'a.bin' },
  payload: Buffer.from('\0\n\xff', 'latin1'),
}
const recording: Part = { header: { type: 'replay_recording', length: 4 }, payload: '{}\n1' }
const PACK = { gzip: gzipSync, br: brotliCompressSync, identity: (bytes: Buffer) => bytes }

const isReport = hasItem('client_report')

type Opened = Awaited<ReturnType<typeof openScrubbing>>

/** Starts a tunnel with files in `folder`, and its Sentry. */
async function openScrubbing(
  started: AsyncDisposableStack,
  folder: string,
  env: Record<string, string> = {},
) {
  const sentry = started.use(await startSentry())
  const tunnel = started.use(
    await openTunnel({
      env: {
        SENTRY_DSN: sentry.dsn(),
        SCRUB: 'default',
        SPOOL_URL: pathToFileURL(join(folder, 'spool.db')).href,
        EDGE: '127.0.0.1',
        ...env,
      },
    }),
  )
  let earlier = 0
  const send = (parts: Part[], header: object = {}, posting: Posting = {}) => {
    earlier = sentry.requests.length
    return post(tunnel.url, { body: envelopeOf({ dsn: sentry.dsn(), ...header }, parts), ...posting })
  }
  /** Returns the request of Sentry for what was sent last. */
  const arrived = () => {
    const request = sentry.requests.slice(earlier).find((received) => !isReport(received))
    if (!request) throw new Error('nothing has arrived')
    return request
  }
  return { sentry, tunnel, send, arrived }
}

describe('Scrubbing by default', () => {
  const started = new AsyncDisposableStack()
  let sentry: Opened['sentry']
  let tunnel: Opened['tunnel']
  let send: Opened['send']
  let arrived: Opened['arrived']

  beforeAll(async () => {
    const { path } = started.use(await makeFolder())
    ;({ sentry, tunnel, send, arrived } = await openScrubbing(started, path))
  })

  afterAll(() => started.disposeAsync())

  async function countUnscrubbable(): Promise<number> {
    const metrics = await (await tunnel.admin('/metrics')).text()
    const pattern = /^culvert_scrubbed_values_total\{rule="unscrubbable",mode="enforce"\} (\d+)$/m
    return Number(pattern.exec(metrics)?.[1] ?? 0)
  }

  it.each(Object.keys(PACK) as (keyof typeof PACK)[])(
    'replaces what it finds in a body with the encoding %s, and keeps all other bytes',
    async (encoding) => {
      const body = PACK[encoding](envelopeOf({ dsn: sentry.dsn() }, [event(), attachment]))
      const headers = encoding === 'identity' ? {} : { 'content-encoding': encoding }
      expect((await send([], {}, { body, headers })).status).toBe(200)
      expect(arrived().headers['content-encoding']).toBeUndefined()
      const expected =
        '{"message":"to [email]","extra":{"big":12345678901234567890},"_meta":{"message":{"":{"rem":[["@email:replace","s",3,10]],"len":24}}}}'
      expect(arrived().decoded).toEqual(envelopeOf({ dsn: sentry.dsn() }, [event(expected), attachment]))
    },
  )

  it('scrubs an item without a length in its header', async () => {
    await send([event(EVENT, {}), event('{"type":"x"}', { type: 'user_report' })])
    expect(String(arrived().items[0]?.payload)).toContain('"to [email]"')
    expect(arrived().items[1]?.header.type).toBe('user_report')
  })

  it('scrubs the payloads of all types that are JSON', async () => {
    const types = ['event', 'transaction', 'feedback', 'replay_event', 'span', 'user_report', 'security']
    for (const type of types) {
      await send([{ header: { type }, payload: EVENT }])
      expect(arrived().items).toMatchObject([{ header: { type } }])
      expect(arrived().decoded.toString()).toContain('to [email]')
    }
  })

  it('scrubs the user and the page in the trace, and the page in Referer', async () => {
    const trace = { trace_id: 'a'.repeat(32), public_key: 'b', transaction: `/user/${SECRET}` }
    await send(
      [event()],
      { trace },
      { headers: { referer: `https://shop.example/?user%5Bpassword%5D=abc&to=${SECRET}` } },
    )
    expect(arrived().header.trace).toEqual({ ...trace, transaction: expect.stringContaining('[email]') })
    expect(arrived().headers.referer).toBe('https://shop.example/?user%5Bpassword%5D=[Filtered]&to=[email]')
    expect(arrived().decoded.toString()).not.toContain(SECRET)
  })

  it.each([
    ['is not JSON', '{"message":'],
    ['is not UTF-8', Buffer.from('{"message":"\xff"}', 'latin1')],
    ['has too many levels', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`],
    ['is too large', JSON.stringify({ items: [{ body: 'x'.repeat(2.1 * 1024 * 1024) }] })],
  ])('removes an item that %s, with its attachments, and tells Sentry', async (_, payload) => {
    const before = await countUnscrubbable()
    const type = payload.length > 1024 * 1024 ? 'feedback' : 'event'
    const header = type === 'event' ? { type } : { type: 'span', item_count: 1, length: payload.length }
    const { status } = await send([{ header, payload }, recording])
    expect(status).toBe(200)
    expect(arrived().items.map((item) => item.header.type)).toEqual(['replay_recording'])
    expect(await countUnscrubbable()).toBe(before + 1)
  })

  it('answers 200 for an envelope of which nothing is left', async () => {
    const before = sentry.requests.length
    const answer = await send([{ header: { type: 'event' }, payload: '[' }, attachment])
    expect(answer.status).toBe(200)
    await sentry.idle()
    expect(sentry.requests.slice(before).filter(hasItem('event'))).toEqual([])
  })
})

describe('Scrubbing with other settings', () => {
  let started: AsyncDisposableStack
  let folder: string
  const open = (env: Record<string, string>) => openScrubbing(started, folder, env)

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    folder = started.use(await makeFolder()).path
  })

  afterEach(() => started.disposeAsync())

  it('changes nothing unless it is switched on', async () => {
    const { send, arrived, sentry } = await open({ SCRUB: 'off' })
    await send([event(), attachment])
    expect(arrived().body).toEqual(envelopeOf({ dsn: sentry.dsn() }, [event(), attachment]))
  })

  it('scrubs what a filter has left of a container', async () => {
    const { send, arrived } = await open({ FILTER_RELEASES: 'old' })
    const log = (release: string) => ({
      body: SECRET,
      attributes: { 'sentry.release': { value: release, type: 'string' } },
    })
    const payload = JSON.stringify({ items: [log('old'), log('new'), log('old')] })
    const header = {
      type: 'log',
      item_count: 3,
      length: payload.length,
      content_type: 'application/vnd.sentry.items.log+json',
    }
    await send([{ header, payload }])
    const [item] = arrived().items
    expect(item?.header).toMatchObject({ item_count: 1, length: item?.payload.length })
    expect(JSON.parse(String(item?.payload)).items).toEqual([
      { ...log('new'), body: '[email]', _meta: expect.anything() },
    ])
  })

  it('drops items that are not JSON with drop-attachments', async () => {
    const { send, arrived } = await open({ SCRUB: 'default drop-attachments' })
    await send([
      event(),
      attachment,
      recording,
      { header: { type: 'new_type' }, payload: SECRET },
      { header: { type: 'session' }, payload: '{}' },
    ])
    expect(arrived().items.map(({ header }) => header.type)).toEqual(['event', 'new_type', 'session'])
  })

  it.each([
    ['strict', 'raw_security', undefined],
    ['strict', 'event', '203.0.113.77'],
    ['default', 'raw_security', '203.0.113.77'],
  ])('with SCRUB=%s sends the client address of an item of type %s as %s', async (SCRUB, type, address) => {
    const { send, arrived } = await open({ SCRUB })
    const headers = { 'x-forwarded-for': '203.0.113.77' }
    await send(
      [{ header: { type }, payload: '{"csp-report":{"blocked-uri":"https://a.example"}}' }],
      {},
      { headers },
    )
    expect(arrived().headers['x-forwarded-for']).toBe(address)
  })

  it('applies the rules of SCRUB_RULES that docs/privacy.md shows', async () => {
    const file = new URL('../../../fixtures/scrub-rules.json', import.meta.url)
    const page = readFileSync(new URL('../../../../docs/privacy.md', import.meta.url), 'utf8')
    expect(page).toContain(readFileSync(file, 'utf8'))
    const { send, arrived } = await open({ SCRUB_RULES: file.pathname })
    await send([
      event(JSON.stringify({ message: 'order A-123456 of Jane', user: { ip_address: '10.1.1.1' } })),
    ])
    expect(JSON.parse(String(arrived().items[0]?.payload))).toMatchObject({
      message: 'order A-****** of Jane',
      user: { ip_address: null },
    })
  })

  it.each(['identity', 'gzip'] as const)(
    'stores only scrubbed data of a body with the encoding %s in the spool and the inbox, and logs none',
    async (encoding) => {
      const { sentry, tunnel, send } = await open({
        KEEP_HOURS: '168',
        LOG_LEVEL: 'debug',
        CLIENT_ADDRESS: 'omit',
      })
      sentry.answer({ status: 503 })
      const parts = [event(), { header: { type: 'user_report' }, payload: `[${SECRET}` }]
      const body = PACK[encoding](envelopeOf({ dsn: sentry.dsn(), trace: { user_id: SECRET } }, parts))
      const headers = {
        referer: `https://shop.example/${SECRET}`,
        'x-forwarded-for': '203.0.113.77',
        ...(encoding === 'gzip' && { 'content-encoding': encoding }),
      }
      expect((await send([], {}, { body, headers })).outcome).toBe('spooled')
      sentry.answer({ status: 200 })
      expect(await send([event()], { event_id: '1'.repeat(32) })).toMatchObject({ status: 200 })
      await tunnel.services.ingest.idle() // envelopes are kept after the response
      const { entries } = await (await tunnel.admin('/inbox')).json()
      expect(entries[0]).toMatchObject({ title: 'to [email]', types: ['event'] })
      await tunnel.stop()
      const files = readdirSync(folder).filter((name) => name.includes('.db'))
      const stored = Buffer.concat(files.map((name) => readFileSync(join(folder, name))))
      expect(stored.includes('to [email]')).toBe(true)
      for (const text of [stored, JSON.stringify(tunnel.logs)])
        for (const secret of [SECRET, '203.0.113.77']) expect(text.includes(secret)).toBe(false)
    },
  )

  it('recognises a repeated envelope in the spool by its scrubbed bytes', async () => {
    const { sentry, send, tunnel } = await open({ LOG_LEVEL: 'debug' })
    sentry.answer({ status: 503 })
    for (const name of ['a', 'b']) await send([event(JSON.stringify({ message: `${name}@b.example` }))])
    expect(await tunnel.receipt(({ reason }) => reason === 'duplicate')).toMatchObject({ status: 200 })
  })

  it('changes nothing and counts with observe', async () => {
    const { send, arrived, sentry, tunnel } = await open({ SCRUB: 'default observe drop-attachments' })
    const parts = [event(), { header: { type: 'user_report' }, payload: '[' }, attachment]
    await send(parts, {}, { headers: { referer: `https://shop.example/${SECRET}` } })
    expect(arrived().body).toEqual(envelopeOf({ dsn: sentry.dsn() }, parts))
    expect(arrived().headers.referer).toContain(SECRET)
    const metrics = await (await tunnel.admin('/metrics')).text()
    for (const rule of ['@email:replace', 'unscrubbable', 'attachments-dropped'])
      expect(metrics).toContain(`culvert_scrubbed_values_total{rule="${rule}",mode="observe"} 1`)
  })

  it.each([
    ['forward', '203.0.113.77'],
    ['truncate', '203.0.113.0'],
    ['omit', undefined],
  ])('sends the client address as CLIENT_ADDRESS=%s says', async (mode, expected) => {
    const { send, arrived } = await open({ SCRUB: 'off', CLIENT_ADDRESS: mode })
    await send([event()], {}, { headers: { 'x-forwarded-for': '203.0.113.77' } })
    expect(arrived().headers['x-forwarded-for']).toBe(expected)
    expect(arrived().headers['x-sentry-forwarded-for']).toBe(expected)
    expect(arrived().headers['x-real-ip']).toBe(expected)
  })
})

describe('truncate', () => {
  it.each([
    ['203.0.113.77', '203.0.113.0'],
    ['::ffff:203.0.113.77', '203.0.113.0'],
    ['::ffff:1234', '0:0:0::'],
    ['2001:db8:1:2:3::4', '2001:db8:1::'],
    ['2001:db8::4', '2001:db8:0::'],
    [undefined, undefined],
  ])('makes of %s %s', (address, expected) => {
    expect(truncate(address)).toBe(expected)
  })
})
