/** Defines the scenarios: the disruption during which errors happen. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { readLists } from '../../tests/support/browser/adblock.ts'
import { type Requirement, unmet } from '../../tests/support/requirements.ts'
import type { Leaving } from './peers/in-page.ts'
import type { Plan } from './plan.ts'
import { HEALTHY, NEARBY, type ResponseRule } from './recorder.ts'
import type { Testbed } from './testbed.ts'
import type { PageOptions, Visitor } from './visitors/visitors.ts'

type ScenarioContext = {
  testbed: Testbed
  plan: Plan
  visitors: readonly Visitor[]
  /** Prefix of the messages in this round, so that no two errors are equal. */
  label: string
  /** Called before processes are killed. */
  onKill(): void
}

export type Scenario = {
  /** Short title: it labels a bar of the chart. */
  title: string
  needs?: Requirement
  pages?: () => PageOptions
  /** Subjects run one after the other, since in parallel they would slow each other down. */
  inTurn?: true
  /** Does not disrupt direct reports: a loss there is a fault of the benchmark. */
  control?: boolean
  /** Counts segments of replays, which no error raises. */
  replays?: boolean
  /** Exceeds the browser's limit for keep-alive requests, so that no subject can deliver all. */
  beyond?: boolean
  /** Time without requests after which no more are expected. */
  quietMs?: number
  run(context: ScenarioContext): Promise<void>
}

type Disruption = (context: ScenarioContext) => Promise<void>

const NO_DISRUPTION: Disruption = async () => {}

const everyMs = ({ everyMs }: Plan) => everyMs
const oftenMs = ({ oftenMs }: Plan) => oftenMs
const seldomMs = ({ seldomMs }: Plan) => seldomMs

export const NOTHING_WRONG: Scenario = {
  title: 'nothing wrong',
  control: true,
  run: steadily(everyMs, NO_DISRUPTION),
}

const LISTS: Scenario = {
  title: 'ad-block lists on',
  needs: 'lists',
  pages: () => ({ lists: readLists() }),
  run: steadily(everyMs, NO_DISRUPTION),
}

const AWAY: Scenario = { title: 'Sentry down for 30 s', run: steadily(seldomMs, takeSentryDown) }

const SLOW: Scenario = {
  title: 'Sentry slow, 5 s per response',
  control: true,
  run: steadily(oftenMs, (context) =>
    respondWith(context, () => ({ status: 200, delayMs: context.plan.slowMs })),
  ),
}

const FAILING: Scenario = {
  title: 'Sentry failing, every third response is 500',
  run: steadily(everyMs, (context) =>
    respondWith(context, (nth) => ({ ...HEALTHY(nth), status: nth % 3 ? 200 : 500 })),
  ),
}

const KILLED: Scenario = {
  title: 'tunnel or app server killed',
  control: true,
  run: steadily(oftenMs, (context) => inTurn(context, 'kill')),
}

const REDEPLOYED: Scenario = {
  title: 'tunnel or app server redeployed',
  control: true,
  run: steadily(oftenMs, (context) => inTurn(context, 'stop')),
}

const STORM: Scenario = {
  title: 'storm, 51 tabs × 100 errors',
  control: true,
  inTurn: true,
  async run(context) {
    const { visitors, label, plan } = context
    await respondWith(context, NEARBY) // thousands of responses are awaited, six at a time
    await onAll(visitors, ({ page }) => page.evaluate((many) => window.delivery.openTabs(many), plan.tabs))
    await onAll(visitors, ({ page }) =>
      page.evaluate(([label, many]) => window.delivery.stormInTabs(label, many), [
        label,
        plan.stormErrors,
      ] as const),
    )
  },
}

const REPLAY: Scenario = {
  title: 'session replay, Sentry down for 30 s',
  replays: true,
  pages: () => ({ replay: true }),
  quietMs: 35_000, // the SDK retries a segment 5, 10 and 30 s after a network failure
  async run(context) {
    const moving = onAll(context.visitors, ({ page }) => page.evaluate(() => window.delivery.moveAbout()))
    await Promise.all([moving, takeSentryDown(context).finally(() => end(context))])
  },
}

const [LEFT_2, LEFT_50, LEFT_70] = [left(2, 8), left(50, 1), left(70, 1, 1 / 8)]

/** Scenarios in the order of the tables. */
export const SCENARIOS = [
  ...[NOTHING_WRONG, LISTS, AWAY, SLOW, FAILING, KILLED, REDEPLOYED],
  ...[LEFT_2, LEFT_50, LEFT_70, STORM, REPLAY],
]

/** Phases run one after the other, the sequences of a phase in parallel, and the scenarios of a sequence one after the other. */
export type Phases = readonly (readonly (readonly Scenario[])[])[]

/** Scenarios that mostly wait run in parallel with others; more sequences would overload the machine. */
export const ALL_PHASES: Phases = [
  [[AWAY, SLOW], [REPLAY], [KILLED, REDEPLOYED, LEFT_2, LEFT_70], [NOTHING_WRONG, LISTS, FAILING, LEFT_50]],
  [[STORM]],
]

/** Scenarios of a quick run. */
export const FEW_PHASES: Phases = [[[AWAY], [NOTHING_WRONG, FAILING, LEFT_2]]]

/** Returns the reason why a scenario cannot run on this machine. */
export function unmetRequirement({ needs }: Scenario): string | undefined {
  return needs && unmet(needs)
}

/** Makes a scenario of pages that close with `together` errors each. Browsers keep 64 KB of requests alive for closed pages. */
function left(kilobytes: number, together: number, share = 1): Scenario {
  return {
    title: `page left at an error of ${kilobytes} KB`,
    control: share === 1,
    beyond: share < 1,
    async run({ visitors, label, plan }) {
      const times = Math.ceil((plan.errors * share) / together)
      await onAll(visitors, ({ page }) =>
        leavePages(page, times, { label, bytes: kilobytes * 1000, together }),
      )
    },
  }
}

/** Opens the page in a tab, reloads it `times` - 1 times and closes it. The first page counts for the tab. */
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

/** Raises errors at an interval for as long as the disruption lasts. */
function steadily(every: (plan: Plan) => number, disruption: Disruption): Scenario['run'] {
  return async (context) => {
    const { visitors, label, plan } = context
    const raising = onAll(visitors, ({ page }) =>
      page.evaluate(([label, least, every]) => window.delivery.raiseSteadily(label, least, every), [
        label,
        plan.errors,
        every(plan),
      ] as const),
    )
    await Promise.all([raising, disruption(context).finally(() => end(context))])
  }
}

function end({ visitors }: ScenarioContext): Promise<void> {
  return onAll(visitors, ({ page }) => page.evaluate(() => window.delivery.end()))
}

async function takeSentryDown({ testbed: { recorder }, plan }: ScenarioContext): Promise<void> {
  await sleep(plan.calmMs)
  await recorder.away()
  await sleep(plan.awayMs)
  await recorder.back()
  await sleep(plan.calmMs)
}

async function respondWith({ testbed: { recorder } }: ScenarioContext, rule: ResponseRule): Promise<void> {
  recorder.respondWith(rule)
}

/** Stops and restarts the first process of each subject, then the second. */
async function inTurn(
  { testbed: { subjects }, plan, onKill }: ScenarioContext,
  how: 'kill' | 'stop',
): Promise<void> {
  for (const turn of [0, 1]) {
    await sleep(plan.goneMs)
    onKill()
    await Promise.all(
      subjects.map(async ({ replicas }) => {
        await replicas[turn]?.[how]()
        await sleep(how === 'kill' ? plan.goneMs : 0)
        await replicas[turn]?.start()
      }),
    )
  }
  await sleep(plan.goneMs)
}

async function onAll(visitors: readonly Visitor[], act: (visitor: Visitor) => Promise<void>): Promise<void> {
  await Promise.all(visitors.map(act))
}
