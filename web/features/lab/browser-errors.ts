/** Errors and reports that the lab triggers in the browser. Each contains the `reference`. */

import {
  createEnvelope,
  dsnToString,
  type EventEnvelope,
  generateSpanId,
  generateTraceId,
  uuid4,
} from '@sentry/core'
import * as Sentry from '@sentry/nextjs'
import { LAB_ENVIRONMENT } from '../../lib/sentry/browser-config.ts'
import { addReplay, addTracing } from '../../lib/sentry/lazy-integrations.ts'
import type { Outcome } from './outcome.ts'

export const thrown = (how: string, reference: string) => new Error(`${how} on purpose (lab ${reference})`)

export function handled(reference: string): void {
  try {
    throw thrown('Caught', reference)
  } catch (error) {
    Sentry.captureException(error)
  }
}

/** Sends an unfinished transaction as SDKs before 10.51 do. Later ones drop it. */
export function unfinished(reference: string): void {
  const client = Sentry.getClient()
  const dsn = client?.getDsn()
  if (!client || !dsn) return
  const now = Date.now() / 1000
  const transaction = {
    type: 'transaction' as const,
    transaction: 'incomplete-app-router-transaction',
    event_id: uuid4(),
    start_timestamp: now - 1,
    timestamp: now,
    environment: LAB_ENVIRONMENT,
    tags: { lab: reference },
    contexts: { trace: { trace_id: generateTraceId(), span_id: generateSpanId(), op: 'navigation' } },
    spans: [],
  }
  const { event_id } = transaction
  const header = { event_id, sent_at: new Date().toISOString(), dsn: dsnToString(dsn) }
  void client.sendEnvelope(createEnvelope<EventEnvelope>(header, [[{ type: 'transaction' }, transaction]]))
}

const SLOW_MS = 1_200

/** Sends a trace, whatever the sample rate of the site. */
export async function slow(reference: string): Promise<void> {
  await addTracing()
  const options = Sentry.getClient()?.getOptions()
  if (options) await withAllTraces(options, () => trace(reference))
  await Sentry.flush()
}

async function withAllTraces(
  options: { tracesSampleRate?: number },
  act: () => Promise<void>,
): Promise<void> {
  const { tracesSampleRate: usual } = options
  options.tracesSampleRate = 1
  await act()
  if (usual === undefined) delete options.tracesSampleRate
  else options.tracesSampleRate = usual
}

function trace(reference: string): Promise<void> {
  return Sentry.startSpan(
    { name: 'slow work', op: 'lab', forceTransaction: true, attributes: { lab: reference } },
    async () => {
      await Sentry.startSpan({ name: 'ask the server', op: 'lab.step' }, () => fetch('/lab'))
      await Sentry.startSpan(
        { name: 'wait', op: 'lab.step' },
        () => new Promise((done) => setTimeout(done, SLOW_MS)),
      )
    },
  )
}

export async function logs(reference: string): Promise<void> {
  console.info(`Written to the console on purpose (lab ${reference})`)
  Sentry.logger.info(Sentry.logger.fmt`Logged on purpose (lab ${reference})`)
  await Sentry.flush()
}

export async function metrics(reference: string): Promise<void> {
  Sentry.metrics.count('lab.pressed', 1, { attributes: { lab: reference } })
  Sentry.metrics.distribution('lab.heap', 42, { unit: 'megabyte', attributes: { lab: reference } })
  await Sentry.flush()
}

export async function feedback(reference: string): Promise<void> {
  const data = await picture(reference)
  Sentry.captureFeedback(
    { name: 'A visitor of the lab', message: `Sent on purpose (lab ${reference})` },
    { attachments: [{ filename: 'screenshot.png', contentType: 'image/png', data }] },
  )
}

const REPLAY_MS = 5_500 // the SDK sends nothing shorter than 5 s

/** Records a replay of some seconds. */
export async function replay(): Promise<void> {
  if (!recorderOf()) await addReplay()
  const recorder = recorderOf()
  recorder?.start()
  await new Promise((done) => setTimeout(done, REPLAY_MS))
  await recorder?.flush()
  await recorder?.stop()
}

/** Returns the integration for replays. `getReplay` of the SDK would add it to the code of the page. */
function recorderOf() {
  return Sentry.getClient()?.getIntegrationByName<ReturnType<typeof Sentry.replayIntegration>>('Replay')
}

/** Writes code into an attribute, which the policy of the page blocks. Its beginning is the sample in the report. */
export function violation(reference: string): Promise<Outcome> {
  const blocked = new Promise<Outcome>((done) => {
    addEventListener(
      'securitypolicyviolation',
      ({ originalPolicy }) => done(describeViolation(originalPolicy)),
      { once: true },
    )
  })
  const button = document.createElement('button')
  button.setAttribute('onclick', `'lab ${reference}, on purpose'`)
  document.body.append(button) // the event bubbles to the window
  button.click()
  button.remove()
  return blocked
}

/** Returns the outcome under a policy. Without `report-uri`, which visitors who object do not get, the browser reports nothing. */
function describeViolation(policy: string): Outcome {
  if (/(^|;)\s*report-uri /.test(policy)) return { is: 'browser-report' }
  return { is: 'not-reported', why: 'the policy of this page asks for no reports' }
}

const STORAGE_KEY = 'lab'

/** Throws while the page closes, and leaves it. */
export function throwWhileClosing(reference: string): void {
  addEventListener(
    'pagehide',
    () => {
      Sentry.getClient()?.on('beforeSendEvent', ({ event_id = '' }) =>
        sessionStorage.setItem(STORAGE_KEY, event_id),
      )
      throw thrown('Thrown while the page closes', reference)
    },
    { once: true },
  )
  location.assign('/lab?closed')
}

/** Returns, once, the event ID of the error that the previous page threw while it closed. */
export function takeClosingEventId(): string | undefined {
  const eventId = sessionStorage.getItem(STORAGE_KEY) ?? undefined
  sessionStorage.removeItem(STORAGE_KEY)
  return eventId
}

/** Draws a picture: a page cannot take a screenshot without a prompt. */
async function picture(reference: string): Promise<Uint8Array> {
  const canvas = Object.assign(document.createElement('canvas'), { width: 480, height: 120 })
  const brush = canvas.getContext('2d')
  if (brush) {
    brush.fillStyle = '#0b6650'
    brush.fillRect(0, 0, 480, 120)
    brush.fillStyle = '#fff'
    brush.font = '24px monospace'
    brush.fillText(`lab ${reference}`, 24, 68)
  }
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done))
  return new Uint8Array((await blob?.arrayBuffer()) ?? [])
}
