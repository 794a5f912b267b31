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
import { SITUATIONS, type Situation, type Visit } from './situations.ts'

export type LoadingSample = {
  subject: SubjectName
  /** Errors raised in the page, or report dialogs that it asked for. */
  raised: number
  /** Of those, the ones that Sentry accepted, and those that it accepted once more. */
  arrived: number
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
const QUIET_MS = 7_000 // the offline transport retries after 5 s
const DELIVERY_TIMEOUT_MS = 60_000

/** Runs the situations that are `wanted`, one after the other. */
export async function runLoading(
  options: LoadingOptions,
  wanted: (situation: Situation) => boolean,
): Promise<LoadingResults> {
  await buildSdk(ROOT)
  await using starting = new AsyncDisposableStack()
  const testbed = await startTestbed(starting, options)
  const situations: LoadingResult[] = []
  for (const situation of SITUATIONS) {
    const { title, needs, control = false, dialogs = false } = situation
    const skipped = wanted(situation) ? needs && unmet(needs) : 'left out'
    if (skipped === undefined) options.onStep(title)
    const samples = skipped === undefined ? await runSituation(testbed, situation, options.plan) : []
    situations.push({ title, control, dialogs, samples, ...(skipped !== undefined && { skipped }) })
  }
  return { subjects: options.subjects, situations }
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

async function runSituation(testbed: Testbed, situation: Situation, plan: Plan): Promise<LoadingSample[]> {
  const { recorder, subjects } = testbed
  for (const { project } of subjects) recorder.takeAccepted(project)
  recorder.forget()
  await using stack = new AsyncDisposableStack()
  const visits = await Promise.all(
    subjects.flatMap((subject) =>
      Array.from({ length: plan.visitors }, async (_, visitor) => {
        const visit = await enter(
          stack,
          testbed,
          subject,
          `${situation.title}, visitor ${visitor}, error`,
          plan,
        )
        await situation.run(visit)
        return { subject, ...visit }
      }),
    ),
  )
  await untilDelivered(testbed)
  if (networkChanged(visits)) throw new Invalid('interfaces of this machine came or went meanwhile')
  return subjects.map((subject) => {
    const own = visits.filter((visit) => visit.subject === subject)
    const messages = new Set(own.flatMap(({ raised }) => raised))
    const asked = situation.dialogs ? plan.visitors * plan.dialogs : messages.size
    const isOwn = (message: string) => own.some(({ label }) => message.startsWith(label))
    const taken = recorder.takeAccepted(subject.project).filter(isOwn)
    const arrived = new Set(taken).size
    const blocked = [...new Set(own.flatMap((visit) => visit.blocked.map((url) => url.replace(/\?.*$/, ''))))]
    return { subject: subject.name, raised: asked, arrived, duplicates: taken.length - arrived, blocked }
  })
}

/** Adds a visitor, who leaves when `stack` is disposed. `raised` has the messages of the errors in the pages, and grows. */
async function enter(
  stack: AsyncDisposableStack,
  { chromium }: Testbed,
  { name, url }: Subject,
  label: string,
  plan: Plan,
): Promise<Visit & { raised: string[]; troubles: string[] }> {
  const visitor = stack.use(await chromium.visitor())
  visitor.allowTrouble(/./)
  const raised: string[] = []
  visitor.page.context().on('weberror', (thrown) => {
    const { message } = thrown.error()
    if (message.startsWith(label)) raised.push(message)
  })
  return {
    page: visitor.page,
    url: `${url}/${name}.html`,
    label,
    plan,
    blocked: [],
    raised,
    troubles: visitor.troubles,
  }
}

/** Waits until nothing is pending: no spooled envelope, and no request for some seconds from now on. */
async function untilDelivered({ subjects, recorder }: Testbed): Promise<void> {
  const begun = performance.now()
  const quietMs = () => Math.min(recorder.quietMs(), performance.now() - begun)
  const pending = async () => await Promise.all(subjects.map((subject) => subject.pendingEnvelopes()))
  const settled = async () => (await pending()).every((many) => many === 0) && quietMs() > QUIET_MS
  await until(settled, DELIVERY_TIMEOUT_MS)
}
