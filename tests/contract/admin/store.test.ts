/** Ended entries of two tunnels that share a store: each one lists, finds and resends what the other has ended. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type {
  ResendStarted,
  ResendStatus,
  StoreEntry,
  StoreEvent,
  StorePage,
} from '../../../contract/store.ts'
import { errorOf } from '../../support/envelopes.ts'
import { untilQuietBooks } from '../../support/outage/accounting.ts'
import { post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { STORE_NAMES, STORES } from '../../support/spool/shared-stores.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const PROJECTS = { 1: 'a'.repeat(32), 2: 'b'.repeat(32) }
const ID = `1-${'f'.repeat(32)}`
const MANY = 30
const FLOOD = 200 // more than some steps of a job send

for (const [name, requirement] of STORE_NAMES)
  describe(`The store of two tunnels, a ${name}`, requirement, () => {
    const started = new AsyncDisposableStack()
    let sentry: Sentry
    let tunnels: [Tunnel, Tunnel]
    let made = 0
    let url: string

    beforeAll(async () => {
      sentry = started.use(await startSentry({ projects: PROJECTS }))
      url = started.use(await STORES[name]()).url
      const env = { SENTRY_DSN: `${sentry.dsn('1')} ${sentry.dsn('2')}`, SPOOL_URL: url }
      tunnels = [await openTunnel({ env }), await openTunnel({ env })]
      started.defer(async () => {
        await Promise.all(tunnels.map((tunnel) => tunnel.stop()))
      })
    })

    afterAll(() => started.disposeAsync())

    const ask = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => {
      const headers = { authorization: `Bearer ${tunnels[1].token}` }
      return post(tunnels[1].adminUrl, {
        ...{ path, method, headers },
        ...(body && { body: Buffer.from(JSON.stringify(body)) }),
      })
    }
    const json = async <T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> => {
      const { status, json } = await ask(method, path, body)
      expect({ path, status }).toEqual({ path, status: 200 })
      return json as T
    }
    const list = async (query: string): Promise<StoreEntry[]> =>
      (await json<StorePage>('GET', `/store/entries?limit=200&${query}`)).entries
    const job = async () => (await json<ResendStatus>('GET', '/store/resend')).job
    const nameOf = (project: string) => `127.0.0.1:${sentry.port}/${project}`
    const idOf = (number: number) => number.toString(16).padStart(32, '0')

    /** Spools errors while Sentry is away. Then it declines them. */
    async function decline(project: string, many: number): Promise<string[]> {
      await sentry.away()
      const ids = Array.from({ length: many }, () => idOf(++made))
      for (const event_id of ids) {
        const body = errorOf(sentry.dsn(project), { event_id, number: made })
        expect(await post(tunnels[0].url, { body })).toMatchObject({ status: 200, outcome: 'spooled' })
      }
      expect(await list('state=pending')).toHaveLength(many)
      sentry.answer({ status: 400, body: { detail: 'bad envelope', causes: ['tests'] } })
      await sentry.back()
      await untilNothingIsPending()
      return ids
    }

    const untilNothingIsPending = () =>
      expect
        .poll(
          () => {
            for (const tunnel of tunnels) tunnel.advanceClock(1_000) // the breaker allows a probe
            return list('state=pending')
          },
          { timeout: 20_000 },
        )
        .toEqual([])

    it('lists what Sentry declined, with its answer, by state, project, event and time, in pages', async () => {
      const from = Date.now()
      const [first = ''] = await decline('1', 2)
      await decline('2', 1)
      const [newest, ...others] = await list('state=declined')
      expect(others).toHaveLength(2)
      expect(newest).toMatchObject({
        ...{ state: 'declined', project: nameOf('2'), category: 'error', status: 400, stored: true },
        answer: expect.stringContaining('bad envelope'),
      })
      expect(newest?.ended).toBeGreaterThanOrEqual(Number(newest?.received))
      expect(await list(`project=${nameOf('2')}`)).toEqual([newest])
      expect(await list(`project=${encodeURIComponent(sentry.dsn('2'))}`)).toEqual([newest])
      expect(await list(`event_id=${first}`)).toMatchObject([{ event_id: first }])
      expect(await list(`from=${from}&to=${Date.now()}`)).toHaveLength(3)
      expect(await list(`to=${from - 1}`)).toEqual([])
      expect(await list('state=expired')).toEqual([])
      const page = await json<StorePage>('GET', '/store/entries?limit=2')
      const rest = await json<StorePage>('GET', `/store/entries?limit=2&after=${page.next}`)
      expect([...page.entries, ...rest.entries]).toEqual([newest, ...others])
      expect(rest).not.toHaveProperty('next')
    })

    it('finds an event with its receipts and entries, and says since when', async () => {
      const [eventId = ''] = await decline('1', 1)
      const own = (await (await tunnels[0].admin(`/store/events/${eventId}`)).json()) as StoreEvent
      expect(own.receipts).toMatchObject([{ event_id: eventId, outcome: 'spooled' }])
      const other = await json<StoreEvent>('GET', `/store/events/${eventId}`)
      expect(other).toMatchObject({ event_id: eventId, receipts: [], entries: [{ state: 'declined' }] })
      const outcomes = [...own.final_outcomes, ...other.final_outcomes] // one of them has delivered it
      expect(outcomes).toMatchObject([{ event_id: eventId, final_outcome: 'declined', upstream_status: 400 }])
      expect(other.receipts_since).toBeLessThanOrEqual(Date.now())
      expect(await json('GET', `/store/events/${'f'.repeat(32)}`)).toMatchObject({
        receipts: [],
        entries: [],
      })
    })

    it('sends one entry again, and counts it', async () => {
      const [eventId = ''] = await decline('2', 1)
      const [entry] = await list(`event_id=${eventId}`)
      const before = sentry.requests.length
      sentry.answer({})
      const dry = await json<ResendStarted>('POST', '/store/resend', { id: entry?.id, dry_run: true })
      expect(dry).toEqual({ entries: 1, bytes: entry?.bytes, skipped: 0, undeliverable: 0 })
      expect(await json('POST', '/store/resend', { id: entry?.id })).toEqual(dry)
      await expect.poll(() => sentry.requests.length).toBe(before + 1)
      expect(sentry.requests.at(-1)?.body.toString()).toContain(eventId)
      expect(await list(`event_id=${eventId}`)).toEqual([])
      expect((await ask('POST', '/store/resend', { id: entry?.id })).status).toBe(404)
      await untilQuietBooks(tunnels)
      expect(await (await tunnels[1].admin('/metrics')).text()).toContain(
        `culvert_store_resent_total{project="${nameOf('2')}"} 1\n`,
      )
    })

    it('sends a selection again as a job, each entry once, with progress and a line in the audit log', async () => {
      await decline('1', MANY)
      const earlier = (await list(`state=declined&project=${nameOf('2')}`)).length
      const project = sentry.dsn('1').replace('@', ':secret@')
      const order = { state: 'declined', project, from: 0, to: Date.now() }
      const matching = await json<ResendStarted>('POST', '/store/resend', { ...order, dry_run: true })
      expect(matching.entries).toBeGreaterThanOrEqual(MANY)
      expect(await list(`state=declined&project=${nameOf('1')}`)).toHaveLength(matching.entries)
      sentry.answer({})
      const before = sentry.requests.length
      expect(await json('POST', '/store/resend', order)).toEqual(matching)
      await expect.poll(async () => (await job())?.finished, { timeout: 30_000 }).toBeGreaterThan(0)
      expect(await job()).toMatchObject({
        ...{ state: 'declined', project: nameOf('1'), entries: matching.entries, bytes: matching.bytes },
        ...{ sent: matching.entries, bytes_sent: matching.bytes },
      })
      await expect.poll(() => sentry.requests.length).toBe(before + matching.entries)
      expect(await list(`state=declined&project=${nameOf('1')}`)).toEqual([])
      expect(await list(`state=declined&project=${nameOf('2')}`)).toHaveLength(earlier)
      await untilQuietBooks(tunnels)
      const { actions } = (await (await tunnels[1].admin('/status')).json()) as { actions: object[] }
      expect(actions[0]).toMatchObject({
        ...{ action: 'store-resend', project: nameOf('1'), envelopes: matching.entries },
      })
    })

    it('stops a job, sends nothing twice within an hour, and runs one job at a time', async () => {
      await decline('1', FLOOD)
      const order = { state: 'declined', project: nameOf('1') }
      await json('POST', '/store/resend', order) // Sentry goes on declining
      expect((await ask('POST', '/store/resend', order)).status).toBe(409)
      await expect.poll(async () => (await job())?.sent, { timeout: 20_000 }).toBeGreaterThan(0)
      const { job: stopped } = await json<ResendStatus>('DELETE', '/store/resend')
      expect(stopped?.stopped).toBeGreaterThan(0)
      expect((await ask('DELETE', '/store/resend')).status).toBe(409)
      await untilNothingIsPending()
      const sent = Number((await job())?.sent)
      expect(sent).toBeLessThan(FLOOD)
      expect(await list(`state=declined&project=${nameOf('1')}`)).toHaveLength(FLOOD)
      const rest = await json<ResendStarted>('POST', '/store/resend', { ...order, dry_run: true })
      expect(rest).toMatchObject({ entries: FLOOD - sent, skipped: sent })
      const some = await json<ResendStarted>('POST', '/store/resend', { ...order, limit: 2, dry_run: true })
      expect(some).toMatchObject({ entries: 2, skipped: sent })
      expect(some.bytes).toBeLessThan(rest.bytes / 2)
      await untilQuietBooks(tunnels)
    })

    it('sends nothing again of a project that is not configured', async () => {
      await decline('2', 1)
      const [entry] = await list(`state=declined&project=${nameOf('2')}`)
      await using other = await openTunnel({ env: { SENTRY_DSN: sentry.dsn('1'), SPOOL_URL: url } })
      for (const order of [{ id: entry?.id }, { state: 'declined', project: sentry.dsn('2') }]) {
        const body = JSON.stringify(order)
        expect((await other.admin('/store/resend', { method: 'POST', body })).status).toBe(409)
      }
      const body = JSON.stringify({ state: 'declined', event_id: entry?.event_id })
      const response = await other.admin('/store/resend', { method: 'POST', body })
      expect(await response.json()).toEqual({ entries: 0, bytes: 0, skipped: 0, undeliverable: 1 })
      expect(await list('state=pending')).toEqual([])
      await json('DELETE', `/store/entries?id=${entry?.id}`)
    })

    it('reads no body whose length is not known', async () => {
      const stream = new Blob([JSON.stringify({ state: 'expired', dry_run: true })]).stream()
      const response = await tunnels[1].admin('/store/resend', {
        ...{ method: 'POST', body: stream, duplex: 'half' },
      })
      expect(response.status).toBe(400)
    })

    it.each([
      ['GET', '/store/entries?state=lost', undefined, 'state is one of'],
      ['GET', '/store/entries?state=kept&category=error', undefined, 'are for pending entries'],
      ['GET', '/store/entries?from=2&to=1', undefined, 'from is later than to'],
      ['GET', '/store/entries?event_id=1', undefined, '32 hexadecimal digits'],
      ['GET', '/store/events/abc', undefined, '32 hexadecimal digits'],
      ['POST', '/store/resend', { state: 'pending' }, 'state is one of'],
      ['POST', '/store/resend', { state: 'declined', from: 2, to: 1 }, 'from is later than to'],
      ['POST', '/store/resend', { state: 'declined', limit: 0 }, 'limit is a whole number'],
      ['POST', '/store/resend', { state: 'declined', form: 1 }, 'is not a member'],
      ['POST', '/store/resend', { id: 'first' }, 'An id is'],
      ['POST', '/store/resend', { id: ID, state: 'declined' }, 'leave state out'],
      ['POST', '/store/resend', { id: ID, limit: 1 }, 'leave limit out'],
      [
        'POST',
        '/store/resend',
        { state: 'declined', project: 'a'.repeat(70_000) },
        'The body is a JSON object',
      ],
      ['DELETE', `/store/entries?id=${ID}&state=kept`, undefined, 'leave state out'],
      ['POST', '/store/erase', {}, 'user is a text'],
      ['POST', '/store/erase', { user: 'a'.repeat(201) }, 'user is a text'],
      ['POST', '/store/erase', { user: 'a', from: 1 }, 'is not a member'],
      ['POST', '/store/erase', { user: 'a', after: 'kept-1-1' }, 'the "next" of the step'],
      ['POST', '/store/resend', undefined, 'The body is a JSON object'],
    ] as const)('returns 400 for %s %s %j', async (method, path, body, detail) => {
      const { status, json } = await ask(method, path, body)
      expect(status).toBe(400)
      expect(json).toEqual({ detail: expect.stringContaining(detail) })
    })
  })

it('names MIRROR_DSN when it cannot send an entry of a removed mirror again', async () => {
  await using sentry = await startSentry({ projects: PROJECTS })
  await using store = await STORES['SQLite file']()
  const env = { SENTRY_DSN: sentry.dsn('1'), SPOOL_URL: store.url, UPSTREAM_LATE_MS: '500' } // for which the mirror waits
  sentry.answer(({ path }) => (path.includes('/2/') ? { status: 400 } : {}))
  const MIRROR_DSN = `${sentry.dsn('1')}->${sentry.dsn('2')}`
  const declined = async (tunnel: Tunnel): Promise<StoreEntry[]> =>
    (await (await tunnel.admin('/store/entries?state=declined')).json()).entries
  {
    await using mirroring = await openTunnel({ env: { ...env, MIRROR_DSN } })
    await post(mirroring.url, { body: errorOf(sentry.dsn('1')) })
    await expect.poll(() => declined(mirroring)).toHaveLength(1)
  }
  await using tunnel = await openTunnel({ env })
  const [entry] = await declined(tunnel)
  const { status, json } = await post(tunnel.adminUrl, {
    path: '/store/resend',
    headers: { authorization: `Bearer ${tunnel.token}` },
    body: Buffer.from(JSON.stringify({ id: entry?.id })),
  })
  expect(status).toBe(409)
  expect(json).toEqual({ detail: expect.stringContaining('MIRROR_DSN') })
})
