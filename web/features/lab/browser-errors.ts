/** What the lab raises in the browser, each kind for real. `reference` stands somewhere in each. */

import {
  createEnvelope,
  dsnToString,
  type EventEnvelope,
  generateSpanId,
  generateTraceId,
  uuid4,
} from '@sentry/core'
import * as Sentry from '@sentry/nextjs'
import { LAB_ENVIRONMENT } from '../../lib/sentry/lab-environment.ts'
import { addReplay, addTracing } from '../../lib/sentry/lazy-integrations.ts'

export const thrown = (how: string, reference: string) => new Error(`${how} on purpose (lab ${reference})`)

export function handled(reference: string): void {
  try {
    throw thrown('Caught', reference)
  } catch (error) {
    Sentry.captureException(error)
  }
}

/** As SDKs before 10.51 send it: a trace that the router began before it knew for what. Later ones drop it themselves. */
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

const SLOW = 1_200 // ms

/** Sampled for this once, whatever share of traces the site sends. */
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
      await Sentry.startSpan({ name: 'ask the server', op: 'lab.step' }, () =>
        fetch(`/lab/report.json?reference=${reference}`),
      )
      await Sentry.startSpan(
        { name: 'wait', op: 'lab.step' },
        () => new Promise((done) => setTimeout(done, SLOW)),
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

const REPLAYED = 5_500 // ms; the SDK sends nothing shorter than 5 s

/** Records what this page does for a while. */
export async function replay(): Promise<void> {
  if (!Sentry.getReplay()) await addReplay()
  const recorder = Sentry.getReplay()
  recorder?.start()
  await new Promise((done) => setTimeout(done, REPLAYED))
  await recorder?.flush()
  await recorder?.stop()
}

const LEFT_BEHIND = 'lab'

/** Throws when the page is all but gone, and leaves. */
export function lastMoment(reference: string): void {
  addEventListener(
    'pagehide',
    () => {
      Sentry.getClient()?.on('beforeSendEvent', ({ event_id = '' }) =>
        sessionStorage.setItem(LEFT_BEHIND, event_id),
      )
      throw thrown('Thrown while the page closes', reference)
    },
    { once: true },
  )
  location.assign('/lab?closed')
}

/** The id of what the page before this one raised in its last moment; given once. */
export function takeLastMoment(): string | undefined {
  const eventId = sessionStorage.getItem(LEFT_BEHIND) ?? undefined
  sessionStorage.removeItem(LEFT_BEHIND)
  return eventId
}

/** A page may not take a picture of itself without asking; a drawn one is as good here. */
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
