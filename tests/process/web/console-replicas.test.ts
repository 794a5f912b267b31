/** Requests of the console to replicas that share a spool, do not respond, or close the connection: each action is sent once. */

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InboxEntry, InboxGroup, InboxGroups } from '../../../contract/inbox.ts'
import type { SpoolPurged, SpoolStatus } from '../../../contract/spool.ts'
import { type Answers, type FakeTunnel, startFakeTunnel } from '../../support/tunnel/fake-admin-port.ts'
import { get, lookUntil, pageWith, signIn, startWebOver } from '../../support/web/operator.ts'
import type { Web } from '../../support/web/web.ts'

const SPOOL: SpoolStatus = {
  ...{ id: 'shared-spool', writable: true, since: 0, attempts: [], envelopes: 3, bytes: 3, partitions: [] },
  ...{ paused: [], max_bytes: 1_000, project_max_bytes: 1_000, max_age_ms: 1_000 },
}
const LISTED = 20
const BIG = Buffer.alloc(30_000_000, 'x') // bytes, more than the kernel buffers of a response that is not read
const json = (value: unknown) => (_: unknown, response: ServerResponse) => response.end(JSON.stringify(value))
const envelopeOf = (type: string, payload: Buffer) =>
  Buffer.concat([Buffer.from(`{}\n{"type":"${type}","length":${payload.length}}\n`), payload])

describe('For replicas that share a spool and an inbox, the console', () => {
  const started = new AsyncDisposableStack()
  let tunnels: FakeTunnel[]
  let hung: FakeTunnel
  let web: Web
  let cookie = ''
  const firstSent = Promise.withResolvers<void>()
  const secondEnded = Promise.withResolvers<'sent' | 'cut off'>()

  const purge: Answers = {
    'DELETE /spool': ({ url, socket }, response) =>
      url?.includes('project=')
        ? json({ purged: 10_000, left: 2_500 } satisfies SpoolPurged)(undefined, response)
        : socket.destroy(),
  }

  /** Inbox with twenty groups of two errors each. */
  function inboxOf(inbox: string): Answers {
    const groups = Array.from({ length: LISTED }, (_, n): InboxGroup => {
      const id = `e${n}`
      const newest: InboxEntry = {
        ...{ id, time: n, event_id: null, bytes: 100, types: ['event'], group: id, kind: 'error' },
        ...{
          title: `error ${id}`,
          culprit: '',
          browser: '',
          is_error: true,
          release: '',
          environment: '',
          replay: '',
        },
        ...{ segment: null, raised: null },
      }
      return { envelopes: 2, users: 0, first: 0, newest }
    })
    const page: InboxGroups = { inbox, groups, releases: [], environments: [] }
    return { 'GET /inbox/groups': json(page) }
  }

  beforeAll(async () => {
    const first = await startFakeTunnel(
      'first',
      {
        ...purge,
        ...inboxOf('shared'),
        'GET /inbox/big': (_, response) =>
          response.end(envelopeOf('attachment', BIG)).once('finish', firstSent.resolve),
      },
      { status: { spool: SPOOL } },
    )
    started.use(first)
    const second = await startFakeTunnel(
      'second',
      {
        ...purge,
        ...inboxOf('shared'),
        'GET /inbox/big': (_, response) => {
          response.once('close', () => secondEnded.resolve(response.writableFinished ? 'sent' : 'cut off'))
          void firstSent.promise.then(() => response.end(envelopeOf('attachment', BIG)))
        },
      },
      { status: { spool: SPOOL } },
    )
    started.use(second)
    tunnels = [first, second]
    hung = started.use(await startFakeTunnel('hung', { 'GET /status': () => {} }))
    const elsewhere = started.use(await startFakeTunnel('elsewhere', inboxOf('of another machine')))
    web = started.use(await startWebOver(...tunnels, hung, elsewhere))
    cookie = (await signIn(web.url)).cookie ?? ''
    const responding = (replicas: { state: string }[]) =>
      replicas.filter(({ state }) => state === 'responding').length
    await lookUntil(web.url, cookie, ({ replicas }) => responding(replicas) === 3) // the console sends an action once, and only to a replica that responds
  }, 600_000)

  afterAll(() => started.disposeAsync())

  async function act(form: Record<string, string>): Promise<URL> {
    const response = await fetch(`${web.url}/console/spool/act`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, origin: web.url },
      body: new URLSearchParams({ spool: SPOOL.id, ...form }),
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

  it('lists the inboxes of the replicas that respond, and counts a shared one once', async () => {
    const incomplete = '1 replica did not respond or failed: the page may be incomplete' // the one that hangs
    const page = await pageWith(`${web.url}/console/inbox`, cookie, incomplete)
    const rows = page.split('<li').slice(1)
    for (let n = 0; n < LISTED; n++) {
      const row = rows.filter((each) => each.includes(`>error e${n}<`))
      expect(row).toEqual([expect.stringMatching(/>4 <span[^>]*>envelopes</)])
    }
    expect(
      hung.asked.filter((each) => !/^(GET \/(status|rejections)|PUT \/sessions\/.*)$/.test(each)),
    ).toEqual([])
  })

  it('reads an envelope from the first replica that returns it', async () => {
    const response = await get(`${web.url}/console/inbox/big/items/0`, cookie)
    expect((await response.arrayBuffer()).byteLength).toBe(BIG.length)
    expect(await secondEnded.promise).toBe('cut off')
  })
})
