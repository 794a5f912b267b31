/** Controls the visitors: one with each SDK per subject. They stay for a whole sequence, and load their page in each round. */

import type { FiltersEngine } from '@ghostery/adblocker'
import type { Page } from 'playwright-core'
import { blockAds } from '../../../tests/support/browser/adblock.ts'
import type { Chromium } from '../../../tests/support/browser/chromium.ts'
import { until } from '../../../tests/support/until.ts'
import type { Counts } from '../peers/in-page.ts'
import { reportIdOf } from '../peers/report-id.ts'
import type { Recorder } from '../recorder.ts'
import type { PageKind } from '../subjects/pages.ts'
import type { Subject } from '../subjects/subjects.ts'

export type Visitor = {
  subject: Subject
  kind: PageKind
  page: Page
  troubles: string[]
  /** Ids of the reports whose requests failed: Chromium reports failures of requests that it has sent, or tried to send. */
  lost: Set<string>
}

export type PageOptions = {
  /** Filter lists of the visitors' ad blocker. */
  lists?: FiltersEngine
  replay?: boolean
}

const FAILED_POST = /^failed: POST \S+ (.+)$/
const LOAD_TIMEOUT_MS = 120_000
const RESPONSE_TIMEOUT_MS = 120_000 // after the disruption: the timeout of browsers is shorter

/** Adds a visitor, who leaves when `stack` is disposed. */
export async function addVisitor(
  stack: AsyncDisposableStack,
  chromium: Chromium,
  subject: Subject,
  kind: PageKind,
): Promise<Visitor> {
  const visitor = stack.use(await chromium.visitor())
  visitor.allowTrouble(/./) // failures are the subject of the benchmark
  visitor.page.context().setDefaultNavigationTimeout(LOAD_TIMEOUT_MS)
  const lost = new Set<string>()
  visitor.page.context().on('requestfailed', (request) => {
    const body = request.postDataBuffer()?.toString('latin1') ?? ''
    const id = /^\{.*\n/.test(body) ? reportIdOf(body) : undefined
    if (id !== undefined) lost.add(id)
  })
  return { subject, kind, page: visitor.page, troubles: visitor.troubles, lost }
}

/** Loads the page of each visitor. `await using` leaves the pages. */
export async function openPages(visitors: readonly Visitor[], recorder: Recorder, options: PageOptions) {
  await using opened = new AsyncDisposableStack()
  opened.defer(async () => void (await Promise.all(visitors.map(leave))))
  await Promise.all(
    visitors.map(async (visitor) => {
      visitor.troubles.length = 0
      visitor.lost.clear()
      if (options.lists) await blockAds(visitor.page, options.lists)
      await visitor.page.goto(urlOf(visitor, recorder, options))
    }),
  )
  return opened.move()
}

async function leave({ page }: Visitor): Promise<void> {
  const tabs = page.context().pages()
  await Promise.all(tabs.filter((tab) => tab !== page).map((tab) => tab.close()))
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.goto('about:blank')
}

function urlOf({ subject, kind }: Visitor, recorder: Recorder, { replay }: PageOptions): string {
  const tunnel = subject.tunnel(kind, recorder.org)
  const settings = new URLSearchParams({
    dsn: recorder.dsn(subject.project),
    ...(tunnel !== undefined && { tunnel }),
    ...(replay && { replay: 'on' }),
  })
  return `${subject.url}${kind.path}#${settings}`
}

/** Waits until the browser has a response or an error for each request. */
export async function untilResponded(visitors: readonly Visitor[]): Promise<void> {
  const pending = (visitor: Visitor) => visitor.page.evaluate(() => window.delivery.pendingAll())
  await until(
    async () => (await Promise.all(visitors.map(pending))).every((many) => many === 0),
    RESPONSE_TIMEOUT_MS,
  )
}

export function countsOf({ page }: Visitor): Promise<Counts> {
  return page.evaluate(() => window.delivery.counts)
}

/** Returns the messages of Chromium and `fetch` about failed posts, without duplicates. */
export async function failuresOf(visitors: readonly Visitor[]): Promise<string[]> {
  const inChromium = visitors.flatMap(({ troubles }) =>
    troubles.flatMap((trouble) => FAILED_POST.exec(trouble)?.slice(1) ?? []),
  )
  const inPages = await Promise.all(visitors.map(countsOf))
  return [...new Set([...inChromium, ...inPages.flatMap(({ failures }) => failures)])]
}

/** Returns whether a network interface of the machine changed: Chromium then drops its pending requests. */
export function networkChanged(visitors: readonly Pick<Visitor, 'troubles'>[]): boolean {
  return visitors.some(({ troubles }) => troubles.some((trouble) => trouble.includes('ERR_NETWORK_CHANGED')))
}
