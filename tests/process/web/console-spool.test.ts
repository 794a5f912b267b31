/** Pages of spool entries in the console: paging, their order, and state in the address. Also pages of projects. */

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StorePage } from '../../../contract/store.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { get, pageWith, signIn, startWebOver } from '../../support/web/operator.ts'
import type { Web } from '../../support/web/web.ts'

const PAGE = 50 // envelopes, or projects
const PROJECTS = Array.from({ length: PAGE + 3 }, (_, n) => `${n + 1}`)

describe('The spool page of the console', () => {
  const started = new AsyncDisposableStack()
  let tunnel: Tunnel
  let web: Web
  let cookie: string | undefined

  beforeAll(async () => {
    const projects = Object.fromEntries(PROJECTS.map((id) => [id, id.padStart(32, 'a')]))
    const sentry = started.use(await startSentry({ projects }))
    await sentry.away()
    const SENTRY_DSN = PROJECTS.map((id) => sentry.dsn(id)).join(' ')
    tunnel = started.use(await openTunnel({ env: { SENTRY_DSN } }))
    web = started.use(await startWebOver(tunnel))
    for (let n = 0; n < PAGE + 3; n++) {
      const body = errorOf(sentry.dsn(), { event_id: randomUUID().replaceAll('-', '') })
      expect((await post(tunnel.url, { body })).outcome).toBe('spooled')
    }
    cookie = (await signIn(web.url)).cookie
  }, 300_000)

  afterAll(() => started.disposeAsync())

  /** Returns the rows, and the link to the next page. */
  async function read(path: string) {
    const response = await get(web.url + path, cookie)
    expect(response.status).toBe(200)
    const text = (await response.text()).replaceAll('&amp;', '&')
    const rows = [...text.matchAll(/href="\/console\/spool\/(\d+-[0-9a-f]{32})"/g)].map(([, id = '']) => id)
    const [, next, word] = /href="(\/console\/spool\?[^"]*after=[^"]*)"[^>]*>(Older|Newer)</.exec(text) ?? []
    return { rows, next, word }
  }

  it('shows all entries in pages, in the requested order', async () => {
    const all = []
    for (const [path, word] of [
      ['/console/spool', 'Older'],
      ['/console/spool?order=oldest', 'Newer'],
    ] as const) {
      const first = await read(path)
      expect([first.rows.length, first.word]).toEqual([PAGE, word])
      const second = await read(first.next ?? '')
      expect([second.rows.length, second.next]).toEqual([3, undefined])
      all.push([...first.rows, ...second.rows])
    }
    const [newest, oldest] = all
    expect(new Set(newest).size).toBe(PAGE + 3)
    expect(oldest).toEqual(newest?.toReversed())
  })

  it.each([
    [
      'a span of time that ends before it begins',
      'state=declined&from=2000&to=1000',
      'from is later than to',
    ],
    ['a project that is not configured', 'project=elsewhere/9', 'No such project is configured'],
  ])('shows the sentence of the tunnel for %s', async (_, query, sentence) => {
    const page = await pageWith(`${web.url}/console/spool?${query}`, cookie, sentence)
    expect(page).not.toContain('The store did not answer')
  })

  it('redirects from a receipt to its entry, and to the list when it is not pending', async () => {
    const { entries }: StorePage = await (await tunnel.admin('/spool?limit=200')).json()
    for (const { id, receipt, received } of [entries[0], entries[PAGE]].flatMap((each) => each ?? [])) {
      const { status, headers } = await get(
        `${web.url}/console/spool/by-receipt/${receipt}?time=${received}`,
        cookie,
      )
      expect([status, headers.get('location')]).toEqual([307, `/console/spool/${id}`])
    }
    const gone = await get(`${web.url}/console/spool/by-receipt/gone-1?time=1`, cookie)
    expect(gone.headers.get('location')).toBe('/console/spool')
  })

  it.each<[query: string, place: string, link: string, active: string[], idle: string[]]>([
    ['', '1–50 of 53', 'href="/console/projects?from=50" More projects', ['1'], PROJECTS.slice(1, PAGE)],
    ['?from=50', '51–53 of 53', 'href="/console/projects" Previous projects', [], PROJECTS.slice(PAGE)],
  ])('shows projects in pages, those without envelopes in a line each: %s', async (query, ...shown) => {
    const page = await pageWith(`${web.url}/console/projects${query}`, cookie, ' of 53<')
    const idsIn = (element: string) =>
      [...page.matchAll(new RegExp(`<${element}[^>]*>127\\.0\\.0\\.1:\\d+/(\\d+)</`, 'g'))].map(
        ([, id]) => id,
      )
    const links = [...page.matchAll(/(href="[^"]*")[^>]*>((?:Previous|More) projects)</g)]
    const link = links.map(([, href, words]) => `${href} ${words}`).join()
    expect([/>(\d+–\d+ of \d+)</.exec(page)?.[1], link, idsIn('h2'), idsIn('summary')]).toEqual(shown)
  })
})
