/** Visitors of one round: of each way one with each SDK. */

import type { FiltersEngine } from '@ghostery/adblocker'
import type { Page } from 'playwright-core'
import { blockAds } from '../../helpers/adblock.ts'
import { until } from '../../helpers/until.ts'
import type { PageKind } from './pages.ts'
import type { Counts } from './peers/in-page.ts'
import type { Scene } from './scene.ts'
import type { Way } from './ways.ts'

export type Visit = { way: Way; kind: PageKind; page: Page }

export type VisitOptions = {
  /** Lists of an ad blocker that they have switched on. */
  lists?: FiltersEngine
  /** Their visit is recorded. */
  replay?: boolean
}

const ANSWERED_WITHIN = 60_000 // ms after the trouble: until then a browser hears, or gives up

export async function openVisits(scene: Scene, options: VisitOptions) {
  await using starting = new AsyncDisposableStack()
  const all: Visit[] = []
  for (const way of scene.ways)
    for (const kind of scene.app.pages) {
      const visitor = starting.use(await scene.chromium.visitor())
      visitor.allowTrouble(/./) // it is what this is about
      if (options.lists) await blockAds(visitor.page, options.lists)
      await visitor.page.goto(urlOf(way, kind, scene, options))
      all.push({ way, kind, page: visitor.page })
    }
  const started = starting.move()
  return { all, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

function urlOf(way: Way, kind: PageKind, { recorder }: Scene, { replay }: VisitOptions): string {
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
