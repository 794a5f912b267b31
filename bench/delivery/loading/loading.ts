/** Runs the situations, and compares the errors raised in the pages with the events at Sentry. */

import { buildSdk } from '../../../scripts/build/sdk.ts'
import { type Chromium, startChromium } from '../../../tests/support/browser/chromium.ts'
import { ROOT } from '../../../tests/support/node.ts'
import { unmet } from '../../../tests/support/requirements.ts'
import { eventOf, type Received } from '../../../tests/support/sentry/received-request.ts'
import { until } from '../../../tests/support/until.ts'
import { Invalid } from '../../report/run.ts'
import type { Plan } from '../plan.ts'
import { type Recorder, startRecorder } from '../recorder.ts'
import type { App } from '../subjects/app.ts'
import { PROJECTS, type Subject, type SubjectName, startSubject } from '../subjects/subjects.ts'
import { networkChanged } from '../visitors/visitors.ts'
import { CDN_HOSTS, startCdn, startPages } from './servers.ts'
import { SEQUENCES, SITUATIONS, type Situation, type Visit } from './situations.ts'

export type LoadingSample = {
  subject: SubjectName
  /** Errors raised in the page, or report dialogs that it asked for. */
  raised: number
  /** Number of those that Sentry accepted. */
  arrived: number
  /** Number of times that Sentry accepted one of them again. */
  duplicates: number
  /** URLs that the ad blocker stopped, without their queries. */
  blocked: string[]
}

export type LoadingResult = {
  title: string
  control: boolean
  dialogs: boolean
  samples: LoadingSample[]
  /** Reason why the situation did not run. */
  skipped?: string
}

export type LoadingResults = { subjects: readonly SubjectName[]; situations: LoadingResult[] }

export type LoadingOptions = {
  app: App
  subjects: readonly SubjectName[]
  plan: Plan
  onStep(step: string): void
}

type Testbed = { recorder: Recorder; chromium: Chromium; subjects: Subject[] }

const ORG = 1
const QUIET_MS = 3_000 // for SDKs that store nothing
const DELIVERY_TIMEOUT_MS = 60_000

/** Visit of one situation, with what was observed. */
type Observed = Visit & {
  situation: Situation
  subject: Subject
  /** Messages of the errors in the pages; it grows. */
  raised: string[]
  troubles: string[]
}

/** Runs the situations that are `wanted`; the others are listed as skipped. */
export async function runLoading(
  options: LoadingOptions,
  wanted: (situation: Situation) => boolean,
): Promise<LoadingResults> {
  await buildSdk(ROOT)
  await using stack = new AsyncDisposableStack()
  const testbed = await startTestbed(stack, options)
  const skipReason = (situation: Situation) =>
    wanted(situation) ? situation.needs && unmet(situation.needs) : 'left out'
  const sequences = SEQUENCES.map((sequence) =>
    sequence.filter((situation) => skipReason(situation) === undefined),
  )
  const visits = await runSequences(stack, testbed, sequences, options)
  await untilDelivered(testbed, visits)
  if (networkChanged(visits)) throw new Invalid('interfaces of this machine came or went meanwhile')
  const samples = samplesOf(testbed, visits, options.plan)
  const situations = SITUATIONS.map((situation) => {
    const { title, control = false, dialogs = false } = situation
    const skipped = skipReason(situation)
    if (skipped === undefined) return { title, control, dialogs, samples: samples(situation) }
    return { title, control, dialogs, samples: [], skipped }
  })
  return { subjects: options.subjects, situations }
}

/** Runs the sequences in parallel. The visitors stay until `stack` is disposed. */
async function runSequences(
  stack: AsyncDisposableStack,
  testbed: Testbed,
  sequences: readonly (readonly Situation[])[],
  options: LoadingOptions,
): Promise<Observed[]> {
  const running = sequences.map(async (sequence) => {
    const visits: Observed[] = []
    for (const situation of sequence) visits.push(...(await runSituation(stack, testbed, situation, options)))
    return visits
  })
  await Promise.allSettled(running) // waits until all sequences have ended
  return (await Promise.all(running)).flat()
}

async function startTestbed(
  starting: AsyncDisposableStack,
  { app, subjects: names }: LoadingOptions,
): Promise<Testbed> {
  const projects = names.map((name) => PROJECTS[name])
  const recorder = starting.use(await startRecorder(ORG, projects, messageOf))
  const cdn = starting.use(await startCdn(recorder))
  const { port } = starting.use(await startPages(recorder, names))
  const subjects = []
  for (const name of names)
    subjects.push(starting.use(await startSubject(name, { app, appPort: port, pagesPort: port, recorder })))
  const leads = Object.fromEntries(CDN_HOSTS.map((host) => [host, `127.0.0.1:${cdn.port}`]))
  const chromium = starting.use(
    await startChromium({ leads: { ...leads, [recorder.host]: recorder.address } }),
  )
  return { recorder, chromium, subjects }
}

/** Returns the message of an error or of feedback; `undefined` for other envelopes. */
function messageOf(received: Received): string | undefined {
  const feedback = received.items.find(({ header }) => header.type === 'feedback')
  if (feedback) return JSON.parse(String(feedback.payload)).contexts.feedback.message
  return eventOf(received)?.exception?.values[0].value
}

/** Runs a situation for all visitors at the same time. */
async function runSituation(
  stack: AsyncDisposableStack,
  { chromium, subjects }: Testbed,
  situation: Situation,
  { plan, onStep }: LoadingOptions,
): Promise<Observed[]> {
  onStep(situation.title)
  return await Promise.all(
    subjects.flatMap((subject) =>
      Array.from({ length: plan.visitors }, async (_, visitor) => {
        const label = `${situation.title}, visitor ${visitor}, error`
        const url = `${subject.url}/${subject.name}.html`
        const visit = { situation, subject, url, label, plan, ...(await enter(stack, chromium, label)) }
        await situation.run(visit)
        return visit
      }),
    ),
  )
}

/** Adds a visitor, who leaves when `stack` is disposed. */
async function enter(stack: AsyncDisposableStack, chromium: Chromium, label: string) {
  const visitor = stack.use(await chromium.visitor())
  visitor.allowTrouble(/./)
  const raised: string[] = []
  visitor.page.context().on('weberror', (thrown) => {
    const { message } = thrown.error()
    if (message.startsWith(label)) raised.push(message)
  })
  const blocked: string[] = []
  return { page: visitor.page, troubles: visitor.troubles, raised, blocked }
}

/** Waits until nothing is pending: no envelope in the browsers and in the spool, and no request for some seconds from now on. */
async function untilDelivered({ subjects, recorder }: Testbed, visits: readonly Observed[]): Promise<void> {
  const begun = performance.now()
  const quietMs = () => Math.min(recorder.quietMs(), performance.now() - begun)
  const pending = () => [
    ...visits.map(({ page }) => page.evaluate(countStored)),
    ...subjects.map((subject) => subject.pendingEnvelopes()),
  ]
  const settled = async () =>
    quietMs() > QUIET_MS && (await Promise.all(pending())).every((many) => many === 0)
  await until(settled, DELIVERY_TIMEOUT_MS)
}

/** Runs in the page: returns the number of envelopes that its SDK has stored. */
async function countStored(): Promise<number> {
  const ended = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
  let stored = 0
  for (const { name = '' } of await indexedDB.databases()) {
    const database = await ended(indexedDB.open(name))
    for (const store of database.objectStoreNames)
      stored += await ended(database.transaction(store).objectStore(store).count())
    database.close()
  }
  return stored
}

/** Returns a function that compares the errors of a situation with the reports that Sentry has accepted. */
function samplesOf({ recorder, subjects }: Testbed, visits: readonly Observed[], plan: Plan) {
  const reports = subjects.map((subject) => ({ subject, accepted: recorder.takeAccepted(subject.project) }))
  return (situation: Situation): LoadingSample[] =>
    reports.map(({ subject, accepted }) => {
      const own = visits.filter((visit) => visit.situation === situation && visit.subject === subject)
      const taken = accepted.filter((message) => own.some(({ label }) => message.startsWith(label)))
      const messages = new Set(own.flatMap(({ raised }) => raised))
      const raised = situation.dialogs ? plan.visitors * plan.dialogs : messages.size
      const arrived = new Set(taken).size
      const blocked = own.flatMap((visit) => visit.blocked.map((url) => url.replace(/\?.*$/, '')))
      const duplicates = taken.length - arrived
      return { subject: subject.name, raised, arrived, duplicates, blocked: [...new Set(blocked)] }
    })
}
