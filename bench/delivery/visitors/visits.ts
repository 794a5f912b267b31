/** Visitors: of each way one with each SDK. They stay for a whole lane, and open their page anew in each round. */

import type { FiltersEngine } from '@ghostery/adblocker'
import type { Page } from 'playwright-core'
import { blockAds } from '../../../tests/support/browser/adblock.ts'
import type { Chromium } from '../../../tests/support/browser/chromium.ts'
import { until } from '../../../tests/support/until.ts'
import type { Counts } from '../peers/in-page.ts'
import { reportIdOf } from '../peers/report-id.ts'
import type { Recorder } from '../recorder.ts'
import type { PageKind } from '../subjects/pages.ts'
import type { Way } from '../subjects/ways.ts'

export type Visit = {
  way: Way
  kind: PageKind
  page: Page
  troubles: string[]
  /** Ids of the reports that failed as requests: Chromium tells of what it has sent, or tried to. */
  lost: Set<string>
}

export type PageOptions = {
  /** Lists of an ad blocker that the visitors have switched on. */
  lists?: FiltersEngine
  /** Their visit is recorded. */
  replay?: boolean
}

const FAILED_POST = /^failed: POST \S+ (.+)$/
const LOADED_WITHIN = 120_000 // ms
const ANSWERED_WITHIN = 120_000 // ms after the trouble: until then a browser hears, or gives up

/** Lets one in, for as long as `stack` lasts. */
export async function letIn(
  stack: AsyncDisposableStack,
  chromium: Chromium,
  way: Way,
  kind: PageKind,
): Promise<Visit> {
  const visitor = stack.use(await chromium.visitor())
  visitor.allowTrouble(/./) // it is what this is about
  visitor.page.context().setDefaultNavigationTimeout(LOADED_WITHIN)
  const lost = new Set<string>()
  visitor.page.context().on('requestfailed', (request) => {
    const body = request.postDataBuffer()?.toString('latin1') ?? ''
    const id = /^\{.*\n/.test(body) ? reportIdOf(body) : undefined
    if (id !== undefined) lost.add(id)
  })
  return { way, kind, page: visitor.page, troubles: visitor.troubles, lost }
}

/** Each opens its page. `await using` leaves it. */
export async function openPages(visits: readonly Visit[], recorder: Recorder, options: PageOptions) {
  await using opened = new AsyncDisposableStack()
  opened.defer(async () => void (await Promise.all(visits.map(leave))))
  await Promise.all(
    visits.map(async (visit) => {
      visit.troubles.length = 0
      visit.lost.clear()
      if (options.lists) await blockAds(visit.page, options.lists)
      await visit.page.goto(urlOf(visit, recorder, options))
    }),
  )
  return opened.move()
}

async function leave({ page }: Visit): Promise<void> {
  const tabs = page.context().pages()
  await Promise.all(tabs.filter((tab) => tab !== page).map((tab) => tab.close()))
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.goto('about:blank')
}

function urlOf({ way, kind }: Visit, recorder: Recorder, { replay }: PageOptions): string {
  const tunnel = way.tunnel(kind, recorder.org)
  const settings = new URLSearchParams({
    dsn: recorder.dsn(way.project),
    ...(tunnel !== undefined && { tunnel }),
    ...(replay && { replay: 'on' }),
  })
  return `${way.url}${kind.path}#${settings}`
}

/** Resolves when the browser has heard of all that it sent. */
export async function untilAnswered(visits: readonly Visit[]): Promise<void> {
  const pending = (visit: Visit) => visit.page.evaluate(() => window.delivery.pendingAll())
  await until(
    async () => (await Promise.all(visits.map(pending))).every((many) => many === 0),
    ANSWERED_WITHIN,
  )
}

/** What the page itself has counted. */
export function countsOf({ page }: Visit): Promise<Counts> {
  return page.evaluate(() => window.delivery.counts)
}

/** What Chromium, and `fetch` in the page, said of their posts that failed, each once. */
export async function failuresOf(visits: readonly Visit[]): Promise<string[]> {
  const inChromium = visits.flatMap(({ troubles }) =>
    troubles.flatMap((trouble) => FAILED_POST.exec(trouble)?.slice(1) ?? []),
  )
  const inPages = await Promise.all(visits.map(countsOf))
  return [...new Set([...inChromium, ...inPages.flatMap(({ failures }) => failures)])]
}

/** Chromium drops what is on its way when an interface of the machine comes or goes, as those of containers do. */
export function networkChanged(visits: readonly Visit[]): boolean {
  return visits.some(({ troubles }) => troubles.some((trouble) => trouble.includes('ERR_NETWORK_CHANGED')))
}
