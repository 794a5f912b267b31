/** The way of one envelope: received, read, admitted, and on to Sentry, the inbox or the spool. How it ends is told in `outcome.ts`. */

import type { IncomingMessage } from 'node:http'
import { type Memory, NoRoom } from '../body/memory-budget.ts'
import { cutCompressed, type Parcel, packParcel, packPlain, unpackForSpool } from '../body/outgoing.ts'
import { mergeRanges, type Range } from '../body/ranges.ts'
import type { Bodies, Body } from '../body/receive.ts'
import type { SiftReason } from '../contract.ts'
import { checkItems } from '../envelope/items.ts'
import {
  createEnvelopeReader,
  type Envelope,
  halveHeaderLimits,
  type Item,
  type ReaderLimits,
} from '../envelope/reader.ts'
import { describe, describeHeader, summarise } from '../envelope/summary.ts'
import type { WayToSentry } from '../forwarding.ts'
import { createKeep, type Keep } from '../inbox/enqueue.ts'
import type { Inbox } from '../inbox/inbox.ts'
import type { ClientReports } from '../policy/client-reports.ts'
import type { Filters } from '../policy/filters.ts'
import type { Throttle } from '../policy/throttle.ts'
import type { Limits } from '../policy/upstream-limits.ts'
import type { Project, Projects } from '../projects.ts'
import { Rejection } from '../rejections.ts'
import { LEASE_MS } from '../spool/delivery.ts'
import { prepareToWait } from '../spool/entry.ts'
import type { PutResult } from '../spool/spool.ts'
import type { Seen } from '../telemetry/sdk-inventory.ts'
import { senderHeaders } from '../upstream/client.ts'
import type { Delivery } from '../upstream/request.ts'
import type { Edge } from './client-address.ts'
import { checkOrigin } from './origin.ts'
import { createSettling, type SettlingParts, toMicroseconds, type Visit } from './outcome.ts'
import { readQuery } from './query.ts'
import { jsonType, respond } from './response.ts'

export type IntakeParts = SettlingParts & {
  edge: Edge
  projects: Projects
  bodies: Bodies
  memory: Memory
  filters: Filters
  limits: Limits
  throttle: Throttle
  reports: ClientReports
  /** Absent in inbox mode: nothing is forwarded. */
  sentry: WayToSentry | undefined
  inbox: Inbox | undefined
  seen: Seen
  allowedOrigins: ReadonlySet<string>
  reader: ReaderLimits
  maxBytes: number
  replica: string
  /** Milliseconds since 1970. */
  now: () => number
}

export type Intake = {
  take(incoming: IncomingMessage): Promise<Response>
  inFlight(): number
  /** Resolves when nothing is in hand. */
  idle(): Promise<void>
}

/** An envelope that is being read. */
type Arrival = {
  /** Takes its next bytes, unpacked. Throws a `Rejection`, as soon as its first line names no project of ours, too. */
  look(chunk: Buffer): void
  end(): Envelope
  /** `undefined` until the first line is known. */
  project(): Project | undefined
  /** Forgets the payload that filters have looked into. */
  dropPayload(): void
  /** Gives back the memory of what was read. */
  release(): void
}

/** An envelope of a project of ours, and what of it goes on. */
type Carried = {
  project: Project
  envelope: Envelope
  body: Body
  /** The part of the sender's own limit that is left. */
  left: number
  out: Map<Item, string>
  /** What still needs the body when the answer is given. */
  holds: Promise<unknown>[]
  /** Bodies made of this one, to be released with it. */
  made: Body[]
  dropPayload(): void
}

const MIB = 1024 * 1024
const LIGHT_BYTES = 32 * 1024 // of headers and items, however little memory is left: 200 items, or a long header

export function createIntake(parts: IntakeParts): Intake {
  const { edge, projects, bodies, filters, limits, throttle, reports, sentry, inbox, memory, now, clock } =
    parts
  const { pass, settleKept, holdBack, tooMuch, refuse } = createSettling(parts)
  let inFlight = 0
  let onIdle: PromiseWithResolvers<void> | undefined
  let visits = 0
  const keep = inbox && createKeep(inbox, memory)
  const limitsOfRetry = { ...parts.reader, ...halveHeaderLimits(parts.reader) }
  return { take, inFlight: () => inFlight, idle }

  async function take(incoming: IncomingMessage): Promise<Response> {
    const visit = begin(incoming)
    inFlight++
    let arrival: Arrival | undefined
    try {
      visit.sender = checkOrigin(incoming.headers, parts.allowedOrigins)
      arrival = openArrival(visit)
      return await carry(visit, arrival, await bodies.receive(incoming, arrival.look))
    } catch (error) {
      return refuse(visit, error)
    } finally {
      arrival?.release()
      inFlight--
      if (inFlight === 0) onIdle?.resolve()
    }
  }

  function openArrival({ incoming, caller, receipt }: Visit): Arrival {
    const query = readQuery(incoming.url ?? '')
    const reader = createEnvelopeReader(caller.isRetry ? limitsOfRetry : parts.reader, onHeader)
    let project: Project | undefined
    let held = 0
    return { look, end: reader.end, project: () => project, dropPayload, release: () => hold(0) }

    function onHeader(header: Envelope['header']): void {
      describeHeader(receipt, header)
      project = projects.resolve(header.dsn, query)
      receipt.project = project.name
    }

    function look(chunk: Buffer): void {
      reader.push(chunk)
      hold(reader.parsedBytes() + reader.keptBytes())
      if (reader.parsedBytes() > LIGHT_BYTES && memory.isOver()) throw new Rejection('tunnel-busy')
    }

    function dropPayload(): void {
      reader.dropPayload()
      hold(reader.parsedBytes())
    }

    function hold(bytes: number): void {
      memory.take(bytes - held)
      held = bytes
    }
  }

  async function idle(): Promise<void> {
    if (inFlight === 0) return
    onIdle ??= Promise.withResolvers()
    await onIdle.promise
  }

  function begin(incoming: IncomingMessage): Visit {
    const id = `${parts.replica}-${(++visits).toString(36)}`
    const caller = edge(incoming)
    const receipt: Visit['receipt'] = { id, time: now(), items: [], bytes: 0, replica: parts.replica }
    if (caller.remarks.length > 0) receipt.remarks = caller.remarks
    return { incoming, caller, started: clock(), sender: { foreign: undefined }, receipt }
  }

  async function carry(visit: Visit, arrival: Arrival, body: Body): Promise<Response> {
    const holds: Promise<unknown>[] = []
    const made: Body[] = []
    try {
      visit.receipt.bytes = body.wireBytes
      const left = throttle.charge(visit.caller.address, body.wireBytes, visit.incoming.headers.host)
      if (left < 0) return tooMuch(visit)
      if (body.encoding !== 'identity' && !(await readUnpacked(visit, arrival, body))) return tooMuch(visit)
      const envelope = arrival.end()
      if (isProbe(envelope)) return respond(visit, 200, '{}', jsonType())
      describe(visit.receipt, envelope)
      const project = arrival.project() ?? projects.resolve(envelope.header.dsn, {})
      parts.seen.note(project.name, visit.receipt.sdk, envelope.header.trace?.release, visit.receipt.time)
      checkItems(envelope.items)
      if (envelope.items.length === 0)
        return settleKept(visit, envelope, {
          answer: 'filtered',
          reason: 'empty' satisfies SiftReason,
          status: 200,
        })
      const { dropPayload } = arrival
      return await admit(visit, { project, envelope, body, left, out: new Map(), holds, made, dropPayload })
    } finally {
      if (holds.length > 0) void Promise.allSettled(holds).then(() => releaseAll([body, ...made]))
      else if (made.length > 0) await releaseAll([body, ...made])
      else {
        const released = body.release()
        if (released) await released
      }
    }
  }

  /** `false` when its sender's limit is used up before its end. */
  async function readUnpacked({ caller }: Visit, { look }: Arrival, body: Body): Promise<boolean> {
    let bytes = 0
    for await (const chunk of body.unpacked()) {
      bytes += chunk.length
      if (bytes > parts.maxBytes)
        throw new Rejection('envelope-too-large', `Unpacked, it is larger than ${parts.maxBytes} bytes.`)
      const further = Math.min(chunk.length, bytes - body.wireBytes)
      if (further > 0 && !throttle.chargeUnpacked(caller.address, further, parts.maxBytes)) return false
      look(chunk)
    }
    return true
  }

  /** Takes out what is not wanted, what Sentry holds back, and what is too much; what is left goes on. */
  function admit(visit: Visit, carried: Carried): Response | Promise<Response> {
    const { project, envelope, out } = carried
    const filtered = filters.sift(envelope, visit.incoming.headers['user-agent'])
    carried.dropPayload()
    if (filtered) takeOut(carried, filtered.dropped, 'filtered_events', filtered.reason)
    const held = limits.hold(project, remainder(carried))
    takeOut(carried, held, 'rate_limited_events', 'limited')
    const shed = throttle.shed(carried.left, project.name, remainder(carried))
    takeOut(carried, shed, 'rate_limited_events', 'shed')
    if (out.size > 0) visit.receipt.items = summarise(envelope.items, out)
    if (out.size < envelope.items.length) return goOn(visit, carried)
    if (held.size + shed.size === 0)
      return settleKept(visit, envelope, { answer: 'filtered', status: 200, ...filtered })
    return holdBack(visit, out, shed, limits.remaining(project, held))
  }

  function takeOut(
    { project, out }: Carried,
    items: Set<Item>,
    kind: 'filtered_events' | 'rate_limited_events',
    reason: string,
  ): void {
    if (items.size === 0) return
    for (const item of items) out.set(item, reason)
    if (sentry) reports.note(project, kind, reason, items)
  }

  function goOn(visit: Visit, carried: Carried): Response | Promise<Response> {
    const { envelope, out } = carried
    const cuts = mergeRanges([...envelope.cuts, ...[...out.keys()].map(({ range }) => range)])
    if (keep) return keepToo(keep, visit, carried, cuts)
    if (sentry) return forward(sentry, visit, carried, cuts)
    return settleKept(visit, envelope, { answer: 'delivered', status: 200 })
  }

  async function keepToo(keep: Keep, visit: Visit, carried: Carried, cuts: Range[]): Promise<Response> {
    const { envelope, body } = carried
    const { receipt, caller } = visit
    const types = envelope.items.map(({ type }) => type)
    const { id, time } = receipt
    const entry = { id, time, eventId: envelope.eventId ?? null, types, bytes: envelope.bytes }
    if (sentry) {
      const answer = await forward(sentry, visit, carried, cuts)
      await keep(entry, caller.address, body).catch((error) => {
        if (!(error instanceof Rejection)) parts.onBug(error, caller.requestId)
      })
      return answer
    }
    await keep(entry, caller.address, body)
    return settleKept(visit, envelope, { answer: 'delivered', status: 200 })
  }

  /** Send first; what Sentry has not taken by the time a browser should wait goes into the spool. */
  async function forward(to: WayToSentry, visit: Visit, carried: Carried, cuts: Range[]): Promise<Response> {
    const { project } = carried
    const sent = clock()
    visit.receipt.admittedAfter = toMicroseconds(sent - visit.started)
    const headers = senderHeaders(visit.incoming.headers, visit.caller.address)
    const parcel = await packForNow(carried, cuts)
    if (!parcel) return store(to, visit, carried, cuts, headers, undefined)
    const attempt = to.upstreams.post(project, parcel, headers)
    const soon = await attempt.soon
    visit.receipt.upstreamTook = toMicroseconds(clock() - sent)
    if (soon !== 'late' && soon.kind === 'answered') return pass(visit, soon.reply)
    if (soon !== 'late' && soon.status !== undefined) visit.receipt.upstreamStatus = soon.status
    return store(to, visit, carried, cuts, headers, soon === 'late' ? attempt.final : undefined)
  }

  /** `undefined` without the memory to compress it: it is spooled. A bomb is not, which would fill the disk. */
  async function packForNow({ body, envelope, made }: Carried, cuts: Range[]): Promise<Parcel | undefined> {
    if (cuts.length === 0 || body.encoding === 'identity') return packParcel(body, envelope.bytes, cuts)
    const cut = await cutCompressed(bodies, body, envelope.bytes, cuts).catch((error) => {
      const isBusy = error instanceof Rejection && error.code === 'tunnel-busy'
      if (isBusy && envelope.bytes <= Math.max(MIB, 20 * body.wireBytes)) return undefined
      throw error
    })
    if (!cut) return undefined
    made.push(cut)
    return packParcel(cut, envelope.bytes, [])
  }

  /** The sender hears that it is safe when it is on disk, synced; an attempt still under way settles it when it ends. */
  async function store(
    to: WayToSentry,
    visit: Visit,
    carried: Carried,
    cuts: Range[],
    headers: string[],
    underWay: Promise<Delivery> | undefined,
  ): Promise<Response> {
    const { project, envelope, holds } = carried
    if (underWay) holds.push(underWay)
    const { items } = remainder(carried)
    const leaseMs = underWay ? to.upstreams.attemptMs(envelope.bytes) + LEASE_MS : 0
    const result = await put(to, visit, carried, cuts, headers, leaseMs).catch((error: Error) => error)
    if (result instanceof Error || result.kind === 'full') {
      const final = await underWay
      if (final?.kind === 'answered') return pass(visit, final.reply)
      reports.note(project, 'discarded_events', 'queue_overflow', items)
      throw notKept(result)
    }
    if (result.kind === 'known')
      return settleKept(visit, envelope, { answer: 'filtered', reason: 'duplicate', status: 202 })
    for (const victim of result.evicted) to.deliverer.evicted(victim)
    if (underWay) to.deliverer.follow(result.lease, project, underWay)
    return settleKept(visit, envelope, { answer: 'spooled', status: 202 })
  }

  async function put(
    to: WayToSentry,
    visit: Visit,
    carried: Carried,
    cuts: Range[],
    headers: string[],
    leaseMs: number,
  ): Promise<PutResult> {
    const { project, envelope, made } = carried
    const { encoding, wireBytes } = carried.body
    const { items } = remainder(carried)
    const about = { project, items, headers, address: visit.caller.address, receipt: visit.receipt }
    if (encoding === 'identity') {
      const parcel = packPlain(carried.body, envelope.bytes, cuts)
      const { waiting, body } = await prepareToWait({ ...about, parcel, wireBytes: undefined })
      return to.spool.put(waiting, body, leaseMs)
    }
    const plain = await unpackForSpool(bodies, carried.body, envelope.bytes, cuts)
    made.push(plain)
    const parcel = packPlain(plain, plain.wireBytes, [])
    const { waiting, body } = await prepareToWait({ ...about, parcel, wireBytes })
    return to.spool.put(waiting, body, leaseMs)
  }
}

/** The envelope as far as nothing of it has been taken out. */
function remainder({ envelope, out }: Carried): Envelope {
  return out.size === 0 ? envelope : { ...envelope, items: envelope.items.filter((item) => !out.has(item)) }
}

function notKept(result: Error | { why: string }): Rejection {
  if (!(result instanceof Error)) return new Rejection('spool-full', result.why)
  if (result instanceof Rejection) return result
  if (!(result instanceof NoRoom)) return new Rejection('spool-unwritable')
  return new Rejection(
    'spool-unwritable',
    'Too many bodies wait for it: raise MEMORY_BYTES, or add a tunnel.',
  )
}

/** What an SDK sends to see whether anybody answers (`diagnoseSdkConnectivity`). */
function isProbe({ isHeaderEmpty, items }: Envelope): boolean {
  return items.length === 0 && isHeaderEmpty
}

async function releaseAll(bodies: readonly Body[]): Promise<void> {
  await Promise.all(bodies.map((body) => body.release()))
}
