/** Console while JetStream is away: every replica still responds, and unknown values are shown as unknown. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OverviewSnapshot } from '../../../web/features/console/monitor/snapshot.ts'
import { errorOf } from '../../support/envelopes.ts'
import { type Nats, startNats } from '../../support/nats/nats.ts'
import { post } from '../../support/post.ts'
import { requires } from '../../support/requirements.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { get, lookUntil, signIn, startWebOver } from '../../support/web/operator.ts'
import type { Web } from '../../support/web/web.ts'

const PAGES = ['', '/live-feed', '/rejections', '/projects', '/spool', '/inbox', '/replicas']

describe('While JetStream is away, the console', requires('nats'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let nats: Nats
  let tunnels: Tunnel[]
  let web: Web
  let cookie: string | undefined

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    nats = started.use(await startNats())
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: nats.url }
    tunnels = await Promise.all([1, 2].map(async () => started.use(await openTunnel({ env }))))
    web = started.use(await startWebOver(...tunnels))
    cookie = (await signIn(web.url)).cookie
  }, 300_000)

  afterAll(() => started.disposeAsync())

  const send = (n: number) =>
    post(tunnels[n % 2]?.url ?? '', { body: errorOf(sentry.dsn(), { event_id: undefined, n }) })
  const look = (holds: (overview: OverviewSnapshot) => boolean) => lookUntil(web.url, cookie, holds, 40_000)
  const states = ({ replicas }: OverviewSnapshot) => replicas.map(({ state }) => state)

  it('says that the pending envelopes and the figures are unknown, and nothing can be spooled', async () => {
    const before = await look(({ spool }) => spool?.envelopes === 0)
    expect(before.spool?.writable).toBe(true)

    await nats.kill()
    for (const n of [1, 2]) expect((await send(n)).status).toBe(200) // Sentry accepts envelopes: the spool is not used
    await sentry.away()
    for (const { status } of await Promise.all([send(3), send(4)])) expect(status).toBe(503)
    const away = await look(
      ({ spool, missing, replicas }) =>
        spool?.writable === false &&
        replicas.every(({ state }) => state === 'responding') &&
        missing !== undefined,
    )
    expect(states(away)).toEqual(['responding', 'responding'])
    expect(away.spool?.envelopes).toBeUndefined()
    expect(away.spool?.problem).toBeTruthy()
    expect(away.changes.map(({ text }) => text)).toContain('the spool accepts no envelopes')
    expect(away).not.toHaveProperty('flow')
    const pages = PAGES.map(async (page) => [page, (await get(`${web.url}/console${page}`, cookie)).status])
    expect(await Promise.all(pages)).toEqual(PAGES.map((page) => [page, 200]))
  })

  it('says when it spools again, and how many envelopes are pending', async () => {
    await nats.start()
    let n = 10
    await expect.poll(async () => (await send(n++)).outcome, { interval: 500 }).toBe('spooled')
    const back = await look(({ spool }) => spool?.writable === true && (spool.envelopes ?? 0) > 0)
    expect(back.changes.map(({ text }) => text)).toContain('the spool accepts envelopes again')
    // Also what each tunnel counted without the server, which the other one sees up to 5 s later.
    await look(({ flow }) => Boolean(flow?.total.outcomes.spooled) && flow?.total.outcomes.delivered === 2)
    await sentry.back()
  })
})
