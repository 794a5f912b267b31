/** Requests of the console to tunnels that share a store, hang, close the connection, or use another store: each action is sent once. */

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SpoolPurged, SpoolStatus } from '../../../contract/spool.ts'
import type { StoreEvent } from '../../../contract/store.ts'
import { type Answers, type FakeTunnel, startFakeTunnel } from '../../support/tunnel/fake-admin-port.ts'
import { get, lookUntil, pageWith, signIn, startWebOver } from '../../support/web/operator.ts'
import type { Web } from '../../support/web/web.ts'

const SPOOL: SpoolStatus = {
  ...{ id: 'shared-spool', writable: true, since: 0, attempts: [], envelopes: 3, bytes: 3, partitions: [] },
  ...{ paused: [], max_bytes: 1_000, project_max_bytes: 1_000, max_age_ms: 1_000 },
}
const BIG = Buffer.alloc(30_000_000, 'x') // bytes, more than the kernel buffers of a response that is not read
const EVENT = 'f'.repeat(32)
const SLOW_MS = 700 // longer than another tunnel takes to be asked for a page
const json = (value: unknown) => (_: unknown, response: ServerResponse) => response.end(JSON.stringify(value))
const envelopeOf = (type: string, payload: Buffer) =>
  Buffer.concat([Buffer.from(`{}\n{"type":"${type}","length":${payload.length}}\n`), payload])

describe('For tunnels that share a store, the console', () => {
  const started = new AsyncDisposableStack()
  let tunnels: FakeTunnel[]
  let elsewhere: FakeTunnel
  let web: Web
  let cookie = ''
  /** The tunnel that is asked first does not respond. */
  let isHanging = false
  const cut = Promise.withResolvers<'sent' | 'cut off'>()

  const shared = { spool: SPOOL }

  const answers: Answers = {
    'GET /spool/slow/envelope': (_, response) => setTimeout(() => response.end('{}'), SLOW_MS),
    [`GET /store/events/${EVENT}`]: json(eventWith('7')),
    'DELETE /spool': ({ url, socket }, response) =>
      url?.includes('project=')
        ? json({ purged: 10_000, left: 2_500 } satisfies SpoolPurged)(undefined, response)
        : socket.destroy(),
    'GET /inbox/big': (_, response) => {
      if (isHanging) response.once('close', () => cut.resolve(response.writableFinished ? 'sent' : 'cut off'))
      else response.end(envelopeOf('attachment', BIG))
      isHanging = false
    },
  }

  beforeAll(async () => {
    tunnels = [
      await startFakeTunnel('first', answers, { status: shared }),
      await startFakeTunnel('second', answers, { status: shared }),
    ]
    const hung = started.use(await startFakeTunnel('hung', { 'GET /status': () => {} }))
    const others = { ...answers, [`GET /store/events/${EVENT}`]: json(eventWith('8')) }
    elsewhere = await startFakeTunnel('elsewhere', others, { status: { spool: { ...SPOOL, id: 'other' } } })
    for (const tunnel of [...tunnels, elsewhere]) started.use(tunnel)
    web = started.use(await startWebOver(...tunnels, hung, elsewhere))
    cookie = (await signIn(web.url)).cookie ?? ''
    const responding = (replicas: { state: string }[]) =>
      replicas.filter(({ state }) => state === 'responding').length
    await lookUntil(web.url, cookie, ({ replicas }) => responding(replicas) === 3) // the console sends an action once, and only to a replica that responds
  }, 600_000)

  afterAll(() => started.disposeAsync())

  async function act(form: Record<string, string>, spool = SPOOL.id): Promise<URL> {
    const response = await fetch(`${web.url}/console/spool/act`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, origin: web.url },
      body: new URLSearchParams({ spool, ...form }),
    })
    expect(response.status).toBe(303)
    return new URL(response.headers.get('location') ?? '', web.url)
  }

  const purges = () =>
    tunnels.flatMap(({ asked }) => asked.filter((each) => each.startsWith('DELETE /spool')))

  it('sends a purge to one replica, and to no other when no response arrives', async () => {
    const page = await act({ action: 'purge', all: '1' })
    expect(page.searchParams.get('did')).toBe('unanswered')
    expect(purges()).toEqual(['DELETE /spool?all=1'])
    expect(await (await get(page.href, cookie)).text()).toContain('No response:')
  })

  it('shows how many envelopes are still pending after one action at its limit', async () => {
    const page = await act({ action: 'purge', project: 'p/1' })
    expect(Object.fromEntries(page.searchParams)).toEqual({ did: 'purge', count: '10000', left: '2500' })
    const text = await (await get(page.href, cookie)).text()
    expect(text).toContain('10,000 were purged. 2,500 more are pending')
  })

  it('reads an envelope from another tunnel when the first one hangs', async () => {
    isHanging = true
    const response = await get(`${web.url}/console/inbox/big/items/0`, cookie)
    expect((await response.arrayBuffer()).byteLength).toBe(BIG.length)
    expect(await cut.promise).toBe('cut off')
    expect(elsewhere.asked).not.toContain('GET /inbox/big')
  })

  it('downloads an envelope once from a store that is slow', async () => {
    const response = await get(`${web.url}/console/spool/slow/envelope`, cookie)
    expect(await response.text()).toBe('{}')
    const downloads = tunnels.flatMap(({ asked }) => asked.filter((each) => each.endsWith('/envelope')))
    expect(downloads).toEqual(['GET /spool/slow/envelope'])
  })

  it('finds an entry of another store, without a link to it', async () => {
    const page = await pageWith(`${web.url}/console/find?id=${EVENT}`, cookie, '2 envelopes of this event')
    expect(page).toContain('"/console/spool/7"')
    expect(page).not.toContain('"/console/spool/8"')
  })

  it('names the tunnel that uses another store, with the remedy', async () => {
    const page = await pageWith(`${web.url}/console`, cookie, 'elsewhere uses another store')
    expect(page).toContain('SPOOL_URL')
  })

  it('does nothing to another store than the page showed, to which most tunnels have changed', async () => {
    const before = purges()
    expect(await (await get(`${web.url}/console/spool`, cookie)).text()).toContain(SPOOL.id) // in its forms
    shared.spool = { ...SPOOL, id: 'new' }
    await lookUntil(web.url, cookie, ({ spool }) => spool?.id === 'new')
    const page = await act({ action: 'purge', project: 'p/1' })
    expect(page.searchParams.get('did')).toBe('other-store')
    expect(purges()).toEqual(before)
    expect(await (await get(page.href, cookie)).text()).toContain('Nothing was done: most tunnels use')
    expect((await act({ action: 'purge', project: 'p/1' }, 'new')).searchParams.get('did')).toBe('purge')
  })
})

/** Answer of a tunnel whose store has one pending entry of the event. */
function eventWith(id: string): StoreEvent {
  const entry = { id, state: 'pending', receipt: `r-${id}`, project: 'p/1', category: 'error' } as const
  return {
    ...{ event_id: EVENT, receipts: [], final_outcomes: [], receipts_since: 0 },
    entries: [{ ...entry, bytes: 1, received: 1, attempts: 0, leased: false, stored: true }],
  }
}
