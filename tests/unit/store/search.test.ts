/** Groups and search of the inbox, for envelopes that a tunnel has stored. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import type { InboxGroups, InboxPage } from '../../../contract/inbox.ts'
import { envelopeOf, type Part } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { captureFor } from '../../support/sdk-captures.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const REPLAY = '5a5a43900a9048d3bf25f5ffd640548f' // of the captures

const itemOf = (type: string, json: object): Part => ({ header: { type }, payload: JSON.stringify(json) })
const errorOf = (value: string, more: object = {}): Part =>
  itemOf('event', { exception: { values: [{ type: 'RangeError', value }] }, ...more })

describe('The inbox of a tunnel', () => {
  const started = new AsyncDisposableStack()
  let tunnel: Tunnel

  beforeAll(async () => {
    tunnel = started.use(await openTunnel())
    const bodies = [
      ...[1, 2, 3].map((n) =>
        envelopeOf({ dsn: INBOX_DSN, event_id: `${n}`.repeat(32) }, [
          errorOf(`basket ${n}`, {
            ...{ release: `shop@${n}`, environment: n === 3 ? 'test' : 'production', user: { id: n % 2 } },
            request: { url: `https://shop.example/Käse/${n}`, headers: { 'User-Agent': `Firefox/14${n}.0` } },
          }),
        ]),
      ),
      envelopeOf({ dsn: INBOX_DSN }, [{ header: { type: 'event' }, payload: 'no JSON' }]),
      envelopeOf({ dsn: INBOX_DSN }, [errorOf('x'.repeat(300_000))]),
      envelopeOf({ dsn: INBOX_DSN }, [itemOf('event', { tags: Array(50_000).fill(0), message: 'many' })]),
      captureFor(INBOX_DSN, 'browser-11.12.0-replay-1'),
      captureFor(INBOX_DSN, 'browser-11.12.0-replay-2'),
    ]
    for (const body of bodies) expect((await post(tunnel.url, { body })).status).toBe(200)
  })

  afterAll(() => started.disposeAsync())

  const list = async (query: string): Promise<InboxPage> => (await tunnel.admin(`/inbox?${query}`)).json()
  const groups = async (query = ''): Promise<InboxGroups> =>
    (await tunnel.admin(`/inbox/groups?${query}`)).json()

  const legacy = { 'effective-directive': 'img-src', 'blocked-uri': 'https://x.example' }
  const modern = { effectiveDirective: 'img-src', blockedURL: 'https://x.example' }
  it.each([
    ['Blocked by', 'report-uri', { 'csp-report': { ...legacy, disposition: 'enforce' } }],
    ['Reported by', 'report-uri', { 'csp-report': { ...legacy, disposition: 'report' } }],
    ['Violated', 'report-uri', { 'csp-report': legacy }],
    ['Blocked by', 'the Reporting API', { body: { ...modern, disposition: 'enforce' } }],
    ['Reported by', 'the Reporting API', { body: { ...modern, disposition: 'report' } }],
    ['Violated', 'the Reporting API', { body: modern }],
  ])('names a CSP report %s its directive in the form of %s', async (effect, _, report) => {
    const body = envelopeOf({ dsn: INBOX_DSN }, [itemOf('raw_security', report)])
    expect((await post(tunnel.url, { body })).status).toBe(200)
    const { groups: found } = await groups('type=raw_security')
    expect(found[0]?.newest).toMatchObject({
      kind: 'violation',
      title: `${effect} img-src: https://x.example`,
    })
  })

  it('lists one group for reports of one error, with counts, users, first and last time', async () => {
    const all = await list('search=basket')
    const { groups: found } = await groups('search=basket')
    expect(found).toEqual([
      { envelopes: 3, users: 2, first: all.entries.at(-1)?.time, newest: all.entries[0] },
    ])
    expect(found[0]?.newest).toMatchObject({
      ...{ kind: 'error', title: 'RangeError: basket 3', is_error: true, browser: 'Firefox 143' },
      ...{ release: 'shop@3', environment: 'test' },
    })
    const { entries } = await list(`group=${found[0]?.newest.group}`)
    expect(entries).toEqual(all.entries)
  })

  it('lists the sessions that a server has counted beside those of browsers', async () => {
    await using other = await openTunnel()
    for (const type of ['session', 'sessions'])
      await post(other.url, { body: envelopeOf({ dsn: INBOX_DSN }, [itemOf(type, {})]) })
    const { entries } = await (await other.admin('/inbox?type=session')).json()
    expect(entries).toHaveLength(2)
  })

  it('selects the envelope with an ID, and none whose ID begins with it', async () => {
    const [first] = (await list('search=basket')).entries
    expect((await list(`id=${first?.id}`)).entries).toEqual([first])
    expect((await list(`id=${first?.id.slice(0, -1)}`)).entries).toEqual([])
  })

  it('counts a group over time when spans are asked for', async () => {
    const { entries } = await list('search=basket')
    const from = Math.min(...entries.map(({ time }) => time)) - 1_000
    const countsOf = async (spans: string) => (await groups(`search=basket&${spans}`)).groups[0]?.counts
    expect(await countsOf(`from=${from}&step=60000&steps=3`)).toEqual([3, 0, 0])
    expect(await countsOf(`from=${from - 60_000}&step=60000&steps=3`)).toEqual([null, 3, 0])
    expect(await countsOf(`from=${from + 60_000}&step=60000&steps=1`)).toEqual([0])
    expect((await groups(`search=shop%401&from=${from}&step=60000&steps=1`)).groups[0]?.counts).toEqual([1])
    expect(await countsOf('')).toBeUndefined()
    expect((await tunnel.admin(`/inbox/groups?from=${from}`)).status).toBe(400)
    expect((await tunnel.admin(`/inbox/groups?from=${from}&step=1&steps=201`)).status).toBe(400)
  })

  it.each([
    ['search=rangeerror%20BASKET', 3],
    ['search=shop%402', 1],
    ['search=production', 2],
    ['search=K%C3%84SE/1', 1],
    [`search=${'2'.repeat(32)}`, 1],
    ['search=basket%20many', 0],
    ['search=%25', 0],
    ['release=shop%401', 1],
    ['release=shop', 0],
    ['environment=production', 2],
    ['environment=test&search=shop%401', 0],
    ['environment=test&type=event', 1],
    ['environment=test&type=span', 0],
    [`replay=${REPLAY}`, 2],
  ])('selects the envelopes of %s', async (query, count) => {
    expect((await list(query)).entries).toHaveLength(count)
  })

  it('lists the releases and environments that occur', async () => {
    const { releases, environments } = await groups()
    expect(releases.toSorted()).toEqual(['shop@1', 'shop@1.0.0', 'shop@2', 'shop@3'])
    expect(environments.toSorted()).toEqual(['capture', 'production', 'test'])
  })

  it('lists the segments of a replay, and the time of the error during it', async () => {
    const { entries } = await list(`replay=${REPLAY}`)
    expect(entries.map(({ kind, segment, raised }) => ({ kind, segment, raised }))).toEqual([
      { kind: 'replay', segment: 0, raised: 1795220567587 },
      { kind: 'error', segment: null, raised: 1795220562553 },
    ])
  })

  it('lists each group once when it is read page by page', async () => {
    const { groups: all } = await groups()
    const pages: InboxGroups[] = []
    for (let next: number | undefined = 1e14; next !== undefined; next = pages.at(-1)?.next)
      pages.push(await groups(`limit=2&after=${next}`))
    expect(pages.flatMap((page) => page.groups)).toEqual(all)
    expect(pages.length).toBeGreaterThan(2)
  })

  it('names envelopes by their types when their payload is no JSON', async () => {
    const { entries } = await list('search=event')
    expect(entries.filter(({ title }) => title === 'event')).toMatchObject([
      { kind: 'event', is_error: false },
    ])
  })

  it('lists each event that is too large or has too many values as an error of its own', async () => {
    const { groups: found } = await groups('search=too%20large')
    expect(found.map(({ envelopes, newest }) => [envelopes, newest.title, newest.is_error])).toEqual(
      Array(2).fill([1, 'event, too large to read', true]),
    )
  })

  it('returns 400 for a search of more than 200 characters', async () => {
    expect((await tunnel.admin(`/inbox/groups?search=${'x'.repeat(201)}`)).status).toBe(400)
  })
})
