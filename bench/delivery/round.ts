/** Runs a scenario once for all subjects, and compares the counts of the pages with those of Sentry. */

import { until } from '../../tests/support/until.ts'
import { Invalid } from '../report/run.ts'
import type { Plan } from './plan.ts'
import { HEALTHY } from './recorder.ts'
import type { Scenario } from './scenarios.ts'
import type { PageKind } from './subjects/pages.ts'
import type { Subject, SubjectName } from './subjects/subjects.ts'
import type { Testbed } from './testbed.ts'
import { unsentReports } from './visitors/unsent.ts'
import {
  countsOf,
  failuresOf,
  networkChanged,
  openPages,
  untilResponded,
  type Visitor,
} from './visitors/visitors.ts'

type SdkCounts = {
  sdk: PageKind['sdk']
  /** Errors raised in the page, and events that the SDK captured. */
  raised: number
  captured: number
  /** Reports that the SDK passed to `fetch` and the browser sent, and those that the browser did not send. */
  sent: number
  unsent: number
  /** Reports that Sentry accepted, and those it accepted once more. */
  arrived: number
  duplicates: number
}

export type Sample = {
  subject: SubjectName
  bySdk: SdkCounts[]
  /** Messages of Chromium and `fetch` about failed posts, without duplicates. */
  failures: string[]
  /** Requests that were pending at Sentry when processes were killed or stopped. */
  pendingAtKills: number
}

const QUIET_MS = 2_000
const DELIVERY_TIMEOUT_MS = 120_000 // after the disruption

export async function runRound(
  testbed: Testbed,
  scenario: Scenario,
  plan: Plan,
  label: string,
): Promise<Sample[]> {
  const { recorder, subjects, visitors } = testbed
  recorder.respondWith(HEALTHY)
  recorder.forget()
  for (const { project } of subjects) recorder.takeAccepted(project)
  await using _pages = await openPages(visitors, recorder, scenario.pages?.() ?? {})
  const pending = new Map<SubjectName, number>()
  const onKill = () => {
    for (const { name, project } of subjects)
      pending.set(name, (pending.get(name) ?? 0) + recorder.pendingOf(project))
  }

  for (const group of scenario.inTurn ? subjects.map((subject) => [subject]) : [subjects]) {
    const there = visitors.filter(({ subject }) => group.includes(subject))
    await scenario.run({ testbed, plan, visitors: there, label, onKill })
    await untilResponded(there)
  }
  recorder.respondWith(HEALTHY)
  await untilDelivered(testbed, scenario.quietMs ?? QUIET_MS)

  if (networkChanged(visitors)) throw new Invalid('interfaces of this machine came or went meanwhile')
  return await Promise.all(
    subjects.map(async (subject) => ({
      subject: subject.name,
      bySdk: await countBySdk(
        visitors.filter((visitor) => visitor.subject === subject),
        recorder.takeAccepted(subject.project),
      ),
      failures: await failuresOf(visitors.filter((visitor) => visitor.subject === subject)),
      pendingAtKills: pending.get(subject.name) ?? 0,
    })),
  )
}

/** Waits until nothing is pending: no spooled envelope, and no request for `quietMs`. */
async function untilDelivered({ subjects, recorder }: Testbed, quietMs: number): Promise<void> {
  const pendingEnvelopes = async (subject: Subject) => (await subject.pendingEnvelopes()) !== 0
  const settled = async () =>
    !(await Promise.all(subjects.map(pendingEnvelopes))).includes(true) && recorder.quietMs() > quietMs
  await until(settled, DELIVERY_TIMEOUT_MS + quietMs)
}

/** Counts the reports by SDK. Throws `Invalid` when Sentry has a report that no page has sent. */
async function countBySdk(visitors: readonly Visitor[], taken: readonly string[]): Promise<SdkCounts[]> {
  let known = 0
  const bySdk = await Promise.all(
    visitors.map(async (visitor) => {
      const { raised, captured, sent, failed } = await countsOf(visitor)
      const sentIds = new Set(sent) // a segment is passed again after a failure
      const unsent = unsentReports(failed, visitor.lost, taken)
      for (const id of unsent) sentIds.delete(id)
      const own = taken.filter((id) => sentIds.has(id))
      known += own.length
      const arrived = new Set(own).size
      return {
        sdk: visitor.kind.sdk,
        ...{ raised, captured, sent: sentIds.size, unsent: unsent.size },
        ...{ arrived, duplicates: own.length - arrived },
      }
    }),
  )
  if (known !== taken.length)
    throw new Invalid(`Sentry took ${taken.length} reports, and pages sent only ${known} of them`)
  return bySdk
}
