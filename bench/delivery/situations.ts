/** What happens while errors happen. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { readLists } from '../../tests/support/browser/adblock.ts'
import { type Requirement, unmet } from '../../tests/support/requirements.ts'
import type { Leaving } from './peers/in-page.ts'
import type { Plan } from './plan.ts'
import { type Manner, NEARBY, WELL } from './recorder.ts'
import type { Scene } from './scene.ts'
import type { PageOptions, Visit } from './visitors/visits.ts'

export type Stage = {
  scene: Scene
  plan: Plan
  visits: readonly Visit[]
  /** Names what is raised in this round, so that no two errors are equal. */
  label: string
  /** Says that processes are about to be killed. */
  killing(): void
}

export type Situation = {
  /** Short: it stands beside a bar. */
  title: string
  /** What the machine has to have for it. */
  needs?: Requirement
  pages?: () => PageOptions
  /** Ways one after the other: side by side they would slow each other down. */
  inTurn?: true
  /** Leaves the way straight to Sentry alone: what is lost there, the benchmark itself has lost. */
  control?: boolean
  /** Segments of replays are counted, of which nobody raises any. */
  replays?: boolean
  /** More than a browser keeps alive: for no way to promise, and so less of it. */
  beyond?: boolean
  /** How long nothing may have come until nothing is expected to come any more. */
  quietMs?: number
  run(stage: Stage): Promise<void>
}

type Trouble = (stage: Stage) => Promise<void>

const QUIETLY: Trouble = async () => {}

const everyMs = ({ everyMs }: Plan) => everyMs
const oftenMs = ({ oftenMs }: Plan) => oftenMs
const seldomMs = ({ seldomMs }: Plan) => seldomMs

export const NOTHING_WRONG: Situation = {
  title: 'nothing wrong',
  control: true,
  run: steadily(everyMs, QUIETLY),
}

const LISTS: Situation = {
  title: 'ad-block lists on',
  needs: 'lists',
  pages: () => ({ lists: readLists() }),
  run: steadily(everyMs, QUIETLY),
}

const AWAY: Situation = { title: 'Sentry away for 30 s', run: steadily(seldomMs, beAway) }

const SLOW: Situation = {
  title: 'Sentry slow, 5 s an answer',
  control: true,
  run: steadily(oftenMs, (stage) => behave(stage, () => ({ status: 200, delayMs: stage.plan.slowMs }))),
}

const FAILING: Situation = {
  title: 'Sentry failing, one 500 in three',
  run: steadily(everyMs, (stage) => behave(stage, (nth) => ({ ...WELL(nth), status: nth % 3 ? 200 : 500 }))),
}

const KILLED: Situation = {
  title: 'tunnel or app server killed',
  control: true,
  run: steadily(oftenMs, (stage) => inTurn(stage, 'kill')),
}

const REDEPLOYED: Situation = {
  title: 'tunnel or app server redeployed',
  control: true,
  run: steadily(oftenMs, (stage) => inTurn(stage, 'stop')),
}

const STORM: Situation = {
  title: 'storm, 51 tabs × 100 errors',
  control: true,
  inTurn: true,
  async run(stage) {
    const { visits, label, plan } = stage
    await behave(stage, NEARBY) // thousands of answers are awaited, six at once
    await onAll(visits, ({ page }) => page.evaluate((many) => window.delivery.openTabs(many), plan.tabs))
    await onAll(visits, ({ page }) =>
      page.evaluate(([label, many]) => window.delivery.stormInTabs(label, many), [
        label,
        plan.stormErrors,
      ] as const),
    )
  },
}

const REPLAY: Situation = {
  title: 'session replay, Sentry away for 30 s',
  replays: true,
  pages: () => ({ replay: true }),
  quietMs: 35_000, // the SDK tries a segment again after 5, 10 and 30 s when the network failed it
  async run(stage) {
    const moving = onAll(stage.visits, ({ page }) => page.evaluate(() => window.delivery.moveAbout()))
    await Promise.all([moving, beAway(stage).finally(() => end(stage))])
  },
}

const [LEFT_2, LEFT_50, LEFT_70] = [left(2, 8), left(50, 1), left(70, 1, 1 / 8)]

/** In the order in which they are told. */
export const SITUATIONS = [
  ...[NOTHING_WRONG, LISTS, AWAY, SLOW, FAILING, KILLED, REDEPLOYED],
  ...[LEFT_2, LEFT_50, LEFT_70, STORM, REPLAY],
]

/** Phases, one after the other; of each phase its lanes, side by side; of each lane its situations, one after the other. */
export type Phases = readonly (readonly (readonly Situation[])[])[]

/** What waits more than it works goes on beside the rest; more lanes than these would make the machine itself the trouble. */
export const ALL_PHASES: Phases = [
  [[AWAY, SLOW], [REPLAY], [KILLED, REDEPLOYED, LEFT_2, LEFT_70], [NOTHING_WRONG, LISTS, FAILING, LEFT_50]],
  [[STORM]],
]

/** Enough to see that all is counted right. */
export const FEW_PHASES: Phases = [[[AWAY], [NOTHING_WRONG, FAILING, LEFT_2]]]

/** Why a situation cannot be had on this machine. */
export function whyNot({ needs }: Situation): string | undefined {
  return needs && unmet(needs)
}

/** `together`: so many of them in that moment. A browser keeps 64 KB alive for a page that is gone. */
function left(kilobytes: number, together: number, share = 1): Situation {
  return {
    title: `page left at an error of ${kilobytes} KB`,
    control: share === 1,
    beyond: share < 1,
    async run({ visits, label, plan }) {
      const times = Math.ceil((plan.errors * share) / together)
      await onAll(visits, ({ page }) => leavePages(page, times, { label, bytes: kilobytes * 1000, together }))
    },
  }
}

/** In a tab of its own, loads the visitor's page anew so many times less one, and then closes it. What is counted there stands in the first. */
async function leavePages(first: Page, times: number, leaving: Leaving): Promise<void> {
  const [tab] = await Promise.all([
    first.waitForEvent('popup'),
    first.evaluate(() => void window.open(location.href)),
  ])
  await tab.waitForLoadState()
  for (let i = 1; i <= times; i++) {
    await tab.evaluate((leaving) => window.delivery.raiseOnLeaving(leaving), {
      ...leaving,
      label: `${leaving.label} ${i}`,
    })
    await (i < times ? tab.reload() : tab.close())
  }
}

/** Errors one after the other for as long as the trouble lasts. */
function steadily(every: (plan: Plan) => number, trouble: Trouble): Situation['run'] {
  return async (stage) => {
    const { visits, label, plan } = stage
    const raising = onAll(visits, ({ page }) =>
      page.evaluate(([label, least, every]) => window.delivery.raiseSteadily(label, least, every), [
        label,
        plan.errors,
        every(plan),
      ] as const),
    )
    await Promise.all([raising, trouble(stage).finally(() => end(stage))])
  }
}

function end({ visits }: Stage): Promise<void> {
  return onAll(visits, ({ page }) => page.evaluate(() => window.delivery.end()))
}

async function beAway({ scene: { recorder }, plan }: Stage): Promise<void> {
  await sleep(plan.calmMs)
  await recorder.away()
  await sleep(plan.awayMs)
  await recorder.back()
  await sleep(plan.calmMs)
}

async function behave({ scene: { recorder } }: Stage, manner: Manner): Promise<void> {
  recorder.behave(manner)
}

/** Each way's first process goes and comes back, and then its second. */
async function inTurn({ scene: { ways }, plan, killing }: Stage, how: 'kill' | 'stop'): Promise<void> {
  for (const turn of [0, 1]) {
    await sleep(plan.goneMs)
    killing()
    await Promise.all(
      ways.map(async ({ replicas }) => {
        await replicas[turn]?.[how]()
        await sleep(how === 'kill' ? plan.goneMs : 0)
        await replicas[turn]?.start()
      }),
    )
  }
  await sleep(plan.goneMs)
}

async function onAll(visits: readonly Visit[], act: (visit: Visit) => Promise<void>): Promise<void> {
  await Promise.all(visits.map(act))
}
