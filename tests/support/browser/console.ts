/** Operator's console of a site, and an operator in Chromium. */

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BrowserContextOptions, Locator } from 'playwright-core'
import { expect } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { errorOf } from '../envelopes.ts'
import { post } from '../post.ts'
import { startSentry } from '../sentry/sentry.ts'
import { startSite } from '../site.ts'
import { makeMemoryFolder } from '../temporary-folder.ts'
import { PASSWORD, signIn } from '../web/operator.ts'
import { type Chromium, SITE_HOST, type Visitor } from './chromium.ts'

export type ConsoleSite = Awaited<ReturnType<typeof startConsole>>

/** Starts the site with an inbox beside its Sentry, and a spool for all tunnels. `settings` add to those of the tests. `await using` stops it. */
export async function startConsole(
  chromium: Chromium,
  { replicas = 1, settings = {} }: { replicas?: number; settings?: Record<string, string> } = {},
) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeMemoryFolder())
  const sentry = starting.use(await startSentry())
  sentry.allowUnexpected() // envelopes of captures are of other projects
  const env = {
    SENTRY_DSN: sentry.dsn(),
    KEEP_HOURS: '168',
    OPERATOR_PASSWORD: PASSWORD,
    SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
    ...settings,
  }
  const site = starting.use(await startSite({ env, replicas }))
  const started = starting.move()

  const send = (body: Buffer) => post(`http://127.0.0.1:${site.port}`, { body })

  return {
    env,
    sentry,
    dsn: env.SENTRY_DSN || INBOX_DSN,
    site,
    send,
    newError: (dsn = sentry.dsn()) => errorOf(dsn, { event_id: randomUUID().replaceAll('-', '') }),
    async sendMany(many: number, body: () => Buffer, status: number): Promise<void> {
      for (let n = 0; n < many; n++) expect((await send(body())).status).toBe(status)
    },
    async spoolMany(many: number, body: () => Buffer): Promise<void> {
      for (let n = 0; n < many; n++) expect((await send(body())).outcome).toBe('spooled')
    },
    /** Operator with a session of their own, at a page of the console; `url` is the site's unless given. */
    async operator(path = '', options: BrowserContextOptions = {}, url = site.url): Promise<Visitor> {
      const visitor = await chromium.visitor(options)
      const { page } = visitor
      const { cookie = '' } = await signIn(`http://127.0.0.1:${site.port}`, { password: PASSWORD })
      const [name = '', value = ''] = cookie.split('=')
      await page.context().addCookies([{ name, value, domain: SITE_HOST, path: '/console' }])
      await page.goto(`${url}/console${path}`)
      await untilHydrated(page.getByRole('button', { name: 'Sign out' }))
      visitor.allowTrouble(/^failed: GET .*ERR_ABORTED/) // leaving a page aborts its live feed and its pending requests
      return visitor
    },
    /** Returns the sum of the counters of all running tunnels, by outcome. */
    async counted(): Promise<Record<string, number>> {
      const sums: Record<string, number> = {}
      for (const { adminUrl } of site.tunnels) {
        const text = await fetch(`${adminUrl}/metrics`).then(
          (response) => response.text(),
          () => '',
        )
        for (const [, answer = '', count] of text.matchAll(
          /^culvert_envelopes_total\{outcome="(\w+)".*\} ([1-9]\d*)$/gm,
        ))
          sums[answer] = (sums[answer] ?? 0) + Number(count)
      }
      return sums
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Clicks a button when React has taken over it. */
export async function press(button: Locator): Promise<void> {
  await untilHydrated(button)
  await button.click()
}

/** Resolves when `element` is visible. Loads its page again until then: a tunnel that responds late is left out of a page. */
export async function untilListed(element: Locator): Promise<void> {
  const isListed = async () => {
    if (!(await element.first().isVisible())) await element.page().reload()
    return element.first().isVisible()
  }
  await expect.poll(isListed).toBe(true)
}

/** Clicks a link of a page that may leave out a slow tunnel. */
export async function clickListed(link: Locator): Promise<void> {
  await untilListed(link)
  await link.first().click()
}

/** Resolves when React has taken over an element of the server: before, a click on a button is lost, and a link loads its page. */
export async function untilHydrated(element: Locator): Promise<void> {
  const isHydrated = () =>
    element.evaluate((node) => Object.keys(node).some((key) => key.startsWith('__reactProps$')))
  await expect.poll(isHydrated).toBe(true)
}
