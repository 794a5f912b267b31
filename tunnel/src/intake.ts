/** What happens to one envelope, from request to answer. */

import type { IncomingMessage } from 'node:http'
import { Aborted, type Bodies, type Body, packParcel } from './body.ts'
import type { Receipt } from './contract.ts'
import type { Caller, Edge } from './edge.ts'
import { createEnvelopeReader, type Envelope, type ReaderLimits } from './envelope.ts'
import type { Inbox } from './inbox.ts'
import { checkOrigin, corsHeaders, type Sender } from './origin.ts'
import type { Project, Projects } from './projects.ts'
import { readQuery } from './query.ts'
import type { Receipts } from './receipts.ts'
import { Rejection, refusalBody } from './rejection.ts'
import { unpacked, unpackInto } from './unpack.ts'
import { type Reply, type Upstreams, upstreamHeaders } from './upstream.ts'

export type IntakeParts = {
  edge: Edge
  projects: Projects
  bodies: Bodies
  /** Absent in inbox mode: nothing is forwarded. */
  upstreams: Upstreams | undefined
  inbox: Inbox | undefined
  receipts: Receipts
  allowedOrigins: ReadonlySet<string>
  maxBytes: number
  replica: string
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
  /** Told of what should not happen. */
  onBug: (error: unknown, requestId: string) => void
}

export type Intake = {
  take(incoming: IncomingMessage): Promise<Response>
  inFlight(): number
}

const READER_LIMITS: ReaderLimits = {
  headerBytes: 64 * 1024, // 64 KiB
  items: 1_000,
  keep: () => false,
}

/** What is known of an envelope so far. */
type Visit = {
  incoming: IncomingMessage
  caller: Caller
  started: number
  sender: Sender
  receipt: Omit<Receipt, 'answer' | 'status' | 'took'>
}

type Verdict = Pick<Receipt, 'answer' | 'status'> & Partial<Pick<Receipt, 'reason'>>

export function createIntake(parts: IntakeParts): Intake {
  const { edge, projects, bodies, upstreams, inbox, receipts, now, clock } = parts
  let inFlight = 0
  let visits = 0
  return { take, inFlight: () => inFlight }

  async function take(incoming: IncomingMessage): Promise<Response> {
    const visit = begin(incoming)
    inFlight++
    try {
      return await carry(visit)
    } catch (error) {
      return refuse(visit, error)
    } finally {
      inFlight--
    }
  }

  function begin(incoming: IncomingMessage): Visit {
    const id = `${parts.replica}-${(++visits).toString(36)}`
    return {
      incoming,
      caller: edge(incoming),
      started: clock(),
      sender: { foreign: undefined },
      receipt: { id, time: now(), items: [], bytes: 0, replica: parts.replica },
    }
  }

  async function carry(visit: Visit): Promise<Response> {
    const { incoming, receipt } = visit
    visit.sender = checkOrigin(incoming.headers, parts.allowedOrigins)
    const query = readQuery(incoming.url ?? '')
    const body = await bodies.receive(incoming)
    try {
      receipt.bytes = body.wireBytes
      const envelope = await readEnvelope(body)
      if (envelope.items.length === 0) return respond(visit, 200, '{}', JSON_TYPE)
      describe(receipt, envelope)
      const project = projects.resolve(envelope.header.dsn, query)
      receipt.project = project.name
      if (inbox) await keep(inbox, receipt, envelope, body)
      return upstreams ? await forward(upstreams, visit, project, envelope, body) : kept(visit, envelope)
    } finally {
      await body.release()
    }
  }

  async function readEnvelope(body: Body): Promise<Envelope> {
    const reader = createEnvelopeReader(READER_LIMITS)
    const unpacking = unpackInto(body, parts.maxBytes, reader.push)
    if (unpacking) await unpacking
    return reader.end()
  }

  async function forward(
    to: Upstreams,
    visit: Visit,
    project: Project,
    envelope: Envelope,
    body: Body,
  ): Promise<Response> {
    const parcel = packParcel(body, envelope.bytes, envelope.cuts)
    const sent = clock()
    const delivery = await to.post(
      project,
      parcel,
      upstreamHeaders(visit.incoming.headers, visit.caller.address, parcel),
    )
    visit.receipt.upstreamTook = clock() - sent
    if (delivery.kind === 'answered') return pass(visit, delivery.reply)
    if (delivery.status !== undefined) visit.receipt.upstreamStatus = delivery.status
    throw new Rejection('upstream-away', delivery.why)
  }

  function pass(visit: Visit, reply: Reply): Response {
    const { status } = reply
    visit.receipt.upstreamStatus = status
    settle(visit, { answer: status < 300 ? 'delivered' : status === 429 ? 'limited' : 'declined', status })
    return respond(visit, status, reply.body, replyHeaders(reply))
  }

  function kept(visit: Visit, { eventId }: Envelope): Response {
    settle(visit, { answer: 'delivered', status: 200 })
    return respond(visit, 200, JSON.stringify(eventId ? { id: eventId } : {}), JSON_TYPE)
  }

  function refuse(visit: Visit, error: unknown): Response {
    if (error instanceof Aborted) {
      settle(visit, { answer: 'aborted', status: 0 })
      return new Response(null, { status: 400 }) // nobody is there to read it
    }
    const rejection = error instanceof Rejection ? error : bug(visit, error)
    settle(visit, { answer: 'refused', reason: rejection.code, status: rejection.status })
    return respond(visit, rejection.status, refusalBody(rejection, visit.caller.requestId), JSON_TYPE)
  }

  function bug(visit: Visit, error: unknown): Rejection {
    parts.onBug(error, visit.caller.requestId)
    return new Rejection('tunnel-failed')
  }

  function settle({ receipt, started }: Visit, verdict: Verdict): void {
    receipts.settle({ ...receipt, ...verdict, took: clock() - started })
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

function respond(
  { caller, sender }: Visit,
  status: number,
  body: BodyInit,
  headers: Record<string, string>,
): Response {
  return new Response(body, {
    status,
    headers: { ...headers, 'x-request-id': caller.requestId, ...corsHeaders(sender) },
  })
}

/** Of Sentry's headers these three, and nothing else. */
function replyHeaders({ contentType, retryAfter, rateLimits }: Reply): Record<string, string> {
  const headers: Record<string, string> = {}
  if (contentType) headers['content-type'] = contentType
  if (retryAfter) headers['retry-after'] = retryAfter
  if (rateLimits) headers['x-sentry-rate-limits'] = rateLimits
  return headers
}

const SDK_LENGTH = 64

function describe(receipt: Visit['receipt'], { header, eventId, items }: Envelope): void {
  receipt.items = items.map(({ type, bytes }) => ({ type: type.slice(0, SDK_LENGTH), bytes }))
  if (eventId) receipt.eventId = eventId
  const sdk = nameSdk(header.sdk)
  if (sdk) receipt.sdk = sdk
}

function nameSdk(sdk: unknown): string | undefined {
  if (typeof sdk !== 'object' || sdk === null || !('name' in sdk) || typeof sdk.name !== 'string')
    return undefined
  const version = 'version' in sdk && typeof sdk.version === 'string' ? `/${sdk.version}` : ''
  return `${sdk.name}${version}`.slice(0, SDK_LENGTH)
}

async function keep(
  inbox: Inbox,
  receipt: Visit['receipt'],
  { eventId, items }: Envelope,
  body: Body,
): Promise<void> {
  const bytes = await wholeOf(body)
  const types = items.map(({ type }) => type)
  try {
    inbox.keep(
      { id: receipt.id, time: receipt.time, eventId: eventId ?? null, bytes: bytes.length, types },
      bytes,
    )
  } catch (error) {
    throw new Rejection('inbox-full', error instanceof Error ? error.message : 'unknown')
  }
}

async function wholeOf(body: Body): Promise<Buffer> {
  if (Buffer.isBuffer(body.wire) && body.encoding === 'identity') return body.wire
  return Buffer.concat(await Array.fromAsync(unpacked(body)))
}
