/** What the lab raises in the browser, each kind for real. `reference` stands somewhere in each. */

import * as Sentry from '@sentry/nextjs'
import { addReplay, addTracing } from './late-integrations.ts'

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
    type: 'transaction',
    transaction: 'incomplete-app-router-transaction',
    event_id: hex(32),
    start_timestamp: now - 1,
    timestamp: now,
    environment: 'lab',
    tags: { lab: reference },
    contexts: { trace: { trace_id: hex(32), span_id: hex(16), op: 'navigation' } },
    spans: [],
  }
  const header = {
    event_id: transaction.event_id,
    sent_at: new Date().toISOString(),
    dsn: `${dsn.protocol}://${dsn.publicKey}@${dsn.host}${dsn.port && `:${dsn.port}`}/${dsn.path && `${dsn.path}/`}${dsn.projectId}`,
  }
  void client.sendEnvelope([header, [[{ type: 'transaction' }, transaction]]] as never)
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

/** Throws when the page is all but gone, and leaves. */
export function lastMoment(reference: string): void {
  addEventListener(
    'pagehide',
    () => {
      throw thrown('Thrown while the page closes', reference)
    },
    { once: true },
  )
  location.assign('/lab?closed')
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

function hex(digits: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(digits / 2)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}
