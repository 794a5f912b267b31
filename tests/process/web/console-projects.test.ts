/** Many projects in the console: pages of projects, each with its own counts. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { get, lookUntil, signIn, startWebOver } from '../../support/web/operator.ts'
import type { Web } from '../../support/web/web.ts'

const MANY = 60
const IDS = Array.from({ length: MANY }, (_, n) => `${n + 1}`)

describe('The projects page of the console, with many projects', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel
  let web: Web
  let cookie: string | undefined

  beforeAll(async () => {
    sentry = started.use(
      await startSentry({ projects: Object.fromEntries(IDS.map((id) => [id, id.padStart(32, 'a')])) }),
    )
    const dsns = IDS.map((id) => sentry.dsn(id)).join(' ')
    tunnel = started.use(await openTunnel({ env: { SENTRY_DSN: dsns } }))
    web = started.use(await startWebOver(tunnel))
    cookie = (await signIn(web.url)).cookie
  }, 300_000)

  afterAll(() => started.disposeAsync())

  async function read(path: string) {
    const response = await get(web.url + path, cookie)
    expect(response.status).toBe(200)
    const text = (await response.text()).replaceAll('<!-- -->', '')
    return {
      panels: [...text.matchAll(/<h2[^>]*>127\.0\.0\.1:\d+\/(\d+)<\/h2>/g)].map(([, id]) => id),
      idle: [...text.matchAll(/<summary[^>]*>127\.0\.0\.1:\d+\/(\d+)<\/summary>/g)].map(([, id]) => id),
      tables: [...text.matchAll(/aria-label="Envelopes of [^"]*\/(\d+) by category and outcome"/g)].map(
        ([, id]) => id,
      ),
      place: />(\d+–\d+ of \d+)</.exec(text)?.[1],
      links: [...text.matchAll(/href="([^"]*)"[^>]*>(Previous projects|More projects)</g)].map(
        ([, href = '', word = '']) => ({ href, word }),
      ),
    }
  }

  const without = (id: string, ids: string[]) => ids.filter((each) => each !== id)

  it('shows 50 active projects, those without envelopes in one line each, and the others on a second page', async () => {
    for (const id of ['2', '55'])
      expect((await post(tunnel.url, { body: errorOf(sentry.dsn(id)) })).status).toBe(200)
    await lookUntil(web.url, cookie, ({ flow }) => flow?.total.outcomes.delivered === 2)
    await expect
      .poll(() => read('/console/projects'))
      .toEqual({
        panels: ['2'],
        tables: ['2'],
        idle: without('2', IDS.slice(0, 50)),
        place: '1–50 of 60',
        links: [{ href: '/console/projects?from=50', word: 'More projects' }],
      })
    await expect
      .poll(() => read('/console/projects?from=50'))
      .toEqual({
        panels: ['55'],
        tables: ['55'],
        idle: without('55', IDS.slice(50)),
        place: '51–60 of 60',
        links: [{ href: '/console/projects', word: 'Previous projects' }],
      })
  })
})
