/** Pages of spool entries in the console: paging, the order of several spools, and state in the address. */

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StorePage } from '../../../contract/store.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { until } from '../../support/until.ts'
import { get, pageWith, signIn, startWebOver } from '../../support/web/operator.ts'
import type { Web } from '../../support/web/web.ts'

const PAGE = 50 // envelopes

describe('The spool page of the console for two spools', () => {
  const started = new AsyncDisposableStack()
  let tunnels: Tunnel[]
  let web: Web
  let cookie: string | undefined

  beforeAll(async () => {
    const sentry = started.use(await startSentry())
    await sentry.away()
    tunnels = await Promise.all([1, 2].map(() => openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })))
    for (const tunnel of tunnels) started.use(tunnel)
    web = started.use(await startWebOver(...tunnels))
    for (const { url } of tunnels)
      for (let n = 0; n < PAGE + 3; n++) {
        const body = errorOf(sentry.dsn(), { event_id: randomUUID().replaceAll('-', '') })
        expect((await post(url, { body })).outcome).toBe('spooled')
      }
    cookie = (await signIn(web.url)).cookie
  }, 300_000)

  afterAll(() => started.disposeAsync())

  /** Returns the rows of each spool, and the link to its next page. Repeats the request while the page leaves out a slow replica. */
  async function read(path: string) {
    let page = await readOnce(path)
    await until(async () => {
      if (page.rows.size < tunnels.length) page = await readOnce(path)
      return page.rows.size === tunnels.length
    })
    return page
  }

  async function readOnce(path: string) {
    const response = await get(web.url + path, cookie)
    expect(response.status).toBe(200)
    const text = (await response.text()).replaceAll('&amp;', '&')
    const rows = [...text.matchAll(/href="\/console\/spool\/([^"?]+)\?spool=([^"]+)"/g)]
    const links = [...text.matchAll(/href="(\/console\/spool\?[^"]*after=[^"]*)"[^>]*>(Older|Newer)</g)]
    const bySpool = Map.groupBy(rows, ([, , spool = '']) => spool)
    return {
      rows: new Map([...bySpool].map(([spool, its]) => [spool, its.map(([, id = '']) => id)])),
      links: links.map(([, href = '', word = '']) => ({ href, word })),
    }
  }

  it('pages through one of them while the other stays, in the requested order', async () => {
    for (const [path, word] of [
      ['/console/spool', 'Older'],
      ['/console/spool?order=oldest', 'Newer'],
    ] as const) {
      const first = await read(path)
      const [one = '', two = ''] = first.rows.keys()
      expect([...first.rows.values()].map(({ length }) => length)).toEqual([PAGE, PAGE])
      expect(first.links.map((link) => link.word)).toEqual([word, word])
      const second = await read(first.links[0]?.href ?? '')
      expect(second.rows.get(two)).toEqual(first.rows.get(two))
      expect(second.rows.get(one)).toHaveLength(3)
      expect(new Set([...(first.rows.get(one) ?? []), ...(second.rows.get(one) ?? [])]).size).toBe(PAGE + 3)
      const third = await read(second.links[0]?.href ?? '') // of the other spool
      expect([third.rows.get(one), third.rows.get(two)?.length]).toEqual([second.rows.get(one), 3])
    }
    const newest = await read('/console/spool')
    const oldest = await read('/console/spool?order=oldest')
    const [spool = ''] = newest.rows.keys()
    const rest = (await read(newest.links[0]?.href ?? '')).rows.get(spool)
    expect(oldest.rows.get(spool)?.slice(0, 3)).toEqual(rest?.toReversed())
  })

  it('shows the sentence of the tunnel for a span of time that ends before it begins', async () => {
    const path = '/console/spool?state=declined&from=2000&to=1000'
    const page = await pageWith(web.url + path, cookie, 'from is later than to')
    expect(page).not.toContain('The store did not answer')
  })

  it('redirects from a receipt to its entry, and to the list when it is not pending', async () => {
    const listed = await Promise.all(
      tunnels.map(async (tunnel): Promise<StorePage> => (await tunnel.admin('/spool?limit=200')).json()),
    )
    for (const { spool, entries } of listed)
      for (const { id, receipt, received } of [entries[0], entries[PAGE]].flatMap((each) => each ?? [])) {
        const path = `/console/spool/by-receipt/${receipt}?time=${received}`
        const target = async () => {
          const { status, headers } = await get(web.url + path, cookie)
          return [status, headers.get('location')]
        }
        await expect.poll(target).toEqual([307, `/console/spool/${id}?spool=${spool}`])
      }
    const gone = await get(`${web.url}/console/spool/by-receipt/gone-1?time=1`, cookie)
    expect(gone.headers.get('location')).toBe('/console/spool')
  })
})
