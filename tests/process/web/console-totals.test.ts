/** Counts of the console over three tunnels, compared with the sent envelopes, also after the death of a replica. */

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sumByName } from '../../../web/features/console/figures/figure-sums.ts'
import type { OverviewSnapshot } from '../../../web/features/console/monitor/snapshot.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { captureFor } from '../../support/sdk-captures.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'
import { get, lookUntil, signIn, startWebOver } from '../../support/web/operator.ts'
import { envelopesIn } from '../../support/web/project-tables.ts'
import type { Web } from '../../support/web/web.ts'

/** Captures of real SDKs, and the category under which each envelope counts. */
const REAL: [capture: string, category: string][] = [
  ['browser-11.12.0-error-unhandled', 'error'],
  ['browser-11.12.0-attachment', 'error'],
  ['browser-11.12.0-feedback-attach', 'feedback'],
  ['browser-11.12.0-session-1', 'session'],
  ['browser-11.12.0-replay-2', 'replay'],
  ['browser-11.12.0-logs', 'log_item'],
  ['browser-11.12.0-metrics', 'trace_metric'],
  ['browser-11.12.0-clientreport', 'none'],
  ['browser-10.78.0-pageload', 'transaction'],
  ['browser-10.78.0-error-handled', 'error'],
]

/** Parts of the name of an entry. */
const [CATEGORY, OUTCOME] = [1, 2]

const UNREAD = 0 // bytes of bodies that were rejected before they arrived completely

/** Envelopes and bytes by `project category outcome`. */
type Books = Record<string, [envelopes: number, bytes: number]>

describe('The counts of the console', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnels: Tunnel[]
  let web: Web
  let cookie: string | undefined
  const sent: Books = {}
  const project = (id: string) => `127.0.0.1:${sentry.port}/${id}`

  beforeAll(async () => {
    const folder = started.use(await makeFolder())
    sentry = started.use(await startSentry({ projects: { 1: 'a'.repeat(32), 2: 'b'.repeat(32) } }))
    sentry.allowUnexpected() // envelopes of captures are of other projects
    const env = {
      SENTRY_DSN: `${sentry.dsn('1')} ${sentry.dsn('2')}`,
      SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
    }
    tunnels = await Promise.all([1, 2, 3].map(async () => started.use(await startTunnel({ env }))))
    web = started.use(await startWebOver(...tunnels))
    cookie = (await signIn(web.url)).cookie
  }, 300_000)

  afterAll(() => started.disposeAsync())

  let next = 0

  /** Posts to the tunnels in turn, and counts what was posted. */
  async function send(
    body: Buffer,
    status: number,
    [id, category, outcome]: [id: string, category: string, answer: string],
    bytes = body.length,
  ) {
    const { url } = living()[next++ % living().length] as Tunnel
    expect((await post(url, { body })).status).toBe(status)
    const name = `${id && project(id)} ${category} ${outcome}`
    const [envelopes, all] = sent[name] ?? [0, 0]
    sent[name] = [envelopes + 1, all + bytes]
  }

  const living = () => tunnels.filter(({ pid }) => pid !== killed)

  let killed: number | undefined

  const newError = (id: string) => errorOf(sentry.dsn(id), { event_id: randomUUID().replaceAll('-', '') })

  /** Sums the metrics of the running tunnels as Prometheus reads them. */
  async function metricsBooks(): Promise<Books> {
    const books: Books = {}
    for (const tunnel of living()) {
      const text = await (await fetch(`${tunnel.adminUrl}/metrics`)).text()
      for (const [, metric, labels = '', value] of text.matchAll(
        /^culvert_(envelopes|envelope_bytes)_total\{(.*)\} ([1-9]\d*)$/gm,
      )) {
        const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? ''
        const name = `${label('project')} ${label('category')} ${label('outcome')}`
        books[name] ??= [0, 0]
        books[name][metric === 'envelopes' ? 0 : 1] += Number(value)
      }
    }
    return books
  }

  const all = (books: Books) => Object.values(books).reduce((sum, [envelopes]) => sum + envelopes, 0)
  /** Sums the posted envelopes by a part of their names. */
  const sumsBy = (word: number): Record<string, number> => {
    const sums: Record<string, number> = {}
    for (const [name, [envelopes]] of Object.entries(sent)) {
      const key = name.split(' ')[word] ?? ''
      sums[key] = (sums[key] ?? 0) + envelopes
    }
    return sums
  }

  /** Waits until the overview shows the counts of all posted envelopes. */
  async function lookForAll(): Promise<OverviewSnapshot> {
    const overview = await lookUntil(web.url, cookie, hasAll)
    expectAll(overview)
    return overview
  }

  function expectAll({ flow }: OverviewSnapshot): void {
    expect(flow?.total.categories).toEqual(sumsBy(CATEGORY))
    expect(sumByName(flow?.total.outcomes ?? {})).toEqual(sumsBy(OUTCOME))
    expect(flow?.total.bytes).toBe(Object.values(sent).reduce((sum, [, bytes]) => sum + bytes, 0))
  }

  const hasAll = ({ flow }: OverviewSnapshot) => (flow?.total.received ?? 0) >= all(sent)

  /** The page names categories by the words of users. */
  const nameOnPage = (name: string) =>
    name.replace(' log_item ', ' logs ').replace(' trace_metric ', ' metrics ')

  it('equal /metrics and the envelopes and bytes sent, by project, category and outcome', async () => {
    for (const [name, category] of REAL)
      for (const id of ['1', '2'])
        await send(captureFor(sentry.dsn(id), name), 200, [id, category, 'delivered'])
    sentry.once({ status: 400, body: { detail: 'bad' } })
    await send(newError('1'), 400, ['1', 'error', 'declined'])
    for (let n = 0; n < 4; n++)
      await send(errorOf('https://abc@elsewhere.example/9'), 403, ['', 'none', 'rejected'], UNREAD)
    for (let n = 0; n < 3; n++) await send(Buffer.from('not an envelope'), 400, ['', 'none', 'rejected'])
    await lookForAll()
    expect(await metricsBooks()).toEqual(sent)
    const byProject = Object.entries(sent).filter(([name]) => !name.startsWith(' '))
    expect(envelopesIn(await pageText('/console/projects'))).toEqual(
      Object.fromEntries(byProject.map(([name, [envelopes]]) => [nameOnPage(name), envelopes])),
    )
  })

  it('contain the accepted envelopes of each upstream and its response times', async () => {
    const host = `127.0.0.1:${sentry.port}`
    const { flow } = await lookForAll()
    expect(Object.keys(flow?.total.upstreams ?? {})).toEqual([host])
    const { delivered, durations } = flow?.total.upstreams[host] ?? {}
    expect(delivered).toBe(REAL.length * 2)
    expect(durations?.['+Inf']).toBe(REAL.length * 2 + 1) // and the declined one
  })

  it('contain the SDKs and releases of each project, and its share of the spool', async () => {
    const words = [
      'sentry.javascript.browser/11.12.0',
      'sentry.javascript.browser/10.78.0',
      'shop@1.0.0',
      'No pending envelopes',
      `dsn: '${sentry.dsn('2')}'`,
    ]
    const shown = async () => {
      const page = await pageText('/console/projects')
      return words.filter((word) => page.includes(word))
    }
    await expect.poll(shown).toEqual(words)
  })

  it('keep the counts and the rejected requests of a killed replica', async () => {
    const third = tunnels[2] as Tunnel
    const { replica } = await (await third.admin('/status')).json()
    await lookForAll()
    killed = third.pid
    await third.kill()
    const silent = await lookUntil(web.url, cookie, ({ replicas }) =>
      replicas.some(({ name, state }) => name === replica && state === 'unresponsive'),
    )
    expectAll(silent)
    const codes = ['dsn-unknown', 'not-an-envelope']
    const withRequest = async () => {
      const cards = (await pageText('/console/rejections')).split('View in the live feed')
      const cardOf = (code: string) => cards.find((card) => card.includes(code))
      return codes.filter((code) => cardOf(code)?.includes('Last rejected request'))
    }
    await expect.poll(withRequest).toEqual(codes)

    for (let n = 0; n < 9; n++) await send(newError('1'), 200, ['1', 'error', 'delivered'])
    await lookForAll()
  })

  async function pageText(path: string): Promise<string> {
    const response = await get(web.url + path, cookie)
    expect(response.status).toBe(200)
    return (await response.text()).replaceAll('<!-- -->', '').replaceAll('&#x27;', "'")
  }
})
