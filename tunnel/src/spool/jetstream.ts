/** The spool of several machines: a stream of NATS JetStream that all replicas share. */

import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import {
  jetstream,
  type NextMsgRequest,
  type PubAck,
  type SeqMsgRequest,
  type StoredMsg,
} from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import { ANSWER_MS, connectNats } from './jetstream-connection.ts'
import {
  decodeEntry,
  ENVELOPES,
  type Entry,
  encodeEntry,
  fits,
  STREAM,
  storedBytes,
  subjectOf,
  subjectsOf,
  uploadOf,
} from './jetstream-entry.ts'
import { openLanes, type Taken } from './jetstream-lanes.ts'
import { newUpload, openParts } from './jetstream-parts.ts'
import { openShares } from './jetstream-shares.ts'
import { codeOf, openStream } from './jetstream-stream.ts'
import type { NatsAddress } from './nats-url.ts'
import type {
  KeptBody,
  Lease,
  PutResult,
  Spool,
  SpoolBody,
  SpoolBounds,
  SpoolTotals,
  Waiting,
} from './spool.ts'

export type JetStreamBounds = Omit<SpoolBounds, 'bytes'> & {
  /** `undefined` leaves the bound of a stream that is there. */
  bytes: number | undefined
  /** Milliseconds that an envelope may wait. */
  ageMs: number
}

/** An envelope with the message that holds it. */
type Stored = { entry: Entry; seq: number; upload: string | undefined }

const FULL = 10077
const GONE = 10057
const PRIORITIES_DOWN = [3, 2, 1, 0]
const HEADER_BYTES = 4 * 1024
const TRY_MS = 2_000
const PAUSE_MS = 100
const AT_A_TIME = 500
const ROUNDS = 3 // of making room while others fill it again

/** Makes the stream when there is none. Rejects in words when the server is away, or its stream promises less than we do. */
export async function openJetStreamSpool(
  address: NatsAddress,
  bounds: JetStreamBounds,
  now: () => number,
): Promise<Spool> {
  const { nc, jsm } = await connectNats(address)
  const js = jetstream(nc, { timeout: ANSWER_MS })
  const { config, created } = await openStream(jsm, { ...bounds, replicas: address.replicas }).catch(
    async (error: Error) => {
      await nc.close()
      throw error
    },
  )
  const bytes = config.max_bytes
  const partBytes = (nc.info?.max_payload ?? 1024 * 1024) - HEADER_BYTES
  const parts = openParts(jsm, async (subject, part) => (await publish(subject, part)).seq, partBytes, now)
  const lanes = openLanes(nc, jsm, now)
  const shares = await openShares(nc, found)
  let putting = 0
  let makingRoom: Promise<unknown> = Promise.resolve()

  return {
    id: `${STREAM}-${created}`, // one stream, whichever server tells of it
    put,
    take,
    read,
    extend,
    finish,
    postpone,
    expire,
    totals,
    close,
  }

  async function put(waiting: Waiting, body: SpoolBody, leaseMs: number): Promise<PutResult> {
    const why = overShare(waiting)
    if (why) return { kind: 'full', why }
    if (storedBytes(waiting, partBytes) > bytes) return { kind: 'full', why: 'bound' }
    shares.add(waiting)
    putting++
    let result: PutResult | undefined
    try {
      result = await putWithin(waiting, body, leaseMs)
      return result
    } finally {
      putting--
      if (result?.kind !== 'stored') shares.remove(waiting)
    }
  }

  function overShare({
    network,
    project,
    bytes: more,
  }: Waiting): 'address-share' | 'project-share' | undefined {
    if (network !== '' && shares.ofNetwork(network) + more > bytes * bounds.addressShare)
      return 'address-share'
    return shares.ofProject(project) + more > bytes * bounds.projectShare ? 'project-share' : undefined
  }

  /** Again and again, as long as there is room to be made. */
  async function putWithin(waiting: Waiting, body: SpoolBody, leaseMs: number): Promise<PutResult> {
    const evicted: Waiting[] = []
    const mark = randomUUID()
    for (let round = 0; round <= ROUNDS; round++) {
      try {
        const until = now() + leaseMs
        const entry = { ...waiting, mark, ...(leaseMs > 0 && { due: until }) }
        const seq = await (fits(waiting, partBytes) ? putWhole(entry, body) : putParts(entry, body))
        if (seq === undefined) return { kind: 'known' }
        return { kind: 'stored', lease: { ...waiting, id: seq, attempts: 0, until }, evicted }
      } catch (error) {
        if (codeOf(error) !== FULL) throw error
        const given = await makeRoom(waiting)
        if (!given) break
        evicted.push(...given)
      }
    }
    return { kind: 'full', why: 'bound' }
  }

  async function putWhole(entry: Entry, body: SpoolBody): Promise<number | undefined> {
    const whole = Buffer.isBuffer(body) ? body : Buffer.concat(await Array.fromAsync(body.chunks()))
    return publishEntry(entry, subjectOf(entry, 'first'), whole)
  }

  /** The parts first, and the message that names them last: what is not whole is nothing. */
  async function putParts(entry: Entry, body: SpoolBody): Promise<number | undefined> {
    const upload = newUpload(now())
    try {
      const numbers = await parts.write(upload, body)
      const seq = await publishEntry(
        { ...entry, parts: numbers },
        subjectOf(entry, 'first', upload),
        Buffer.alloc(0),
      )
      if (seq === undefined) await parts.remove(upload)
      return seq
    } catch (error) {
      if (codeOf(error) === FULL) await parts.remove(upload)
      throw error
    }
  }

  /**
   * The number of its message, or `undefined` when the same bytes wait already. The server knows the same bytes for ten minutes, even
   * those that have come to an end since: then it is named after the one that has, so that those who put it again agree.
   */
  async function publishEntry(entry: Entry, subject: string, body: Buffer): Promise<number | undefined> {
    const headers = encodeEntry(entry)
    for (let msgID = entry.key; ; ) {
      const { seq, duplicate } = await publish(subject, body, headers, msgID)
      if (!duplicate) return seq
      const first = await find(seq)
      if (first) return first.entry.mark === entry.mark ? seq : undefined // ours, when an answer was lost
      msgID = `${entry.key}.${seq}`
    }
  }

  /** With a name, what was stored already is not stored twice when an answer was lost. */
  function publish(subject: string, body: Buffer, headers?: MsgHdrs, msgID?: string): Promise<PubAck> {
    return insist(
      (timeout) =>
        js.publish(subject, body, {
          timeout,
          ...(headers && { headers }),
          ...(msgID !== undefined && { msgID }),
        }),
      FULL,
    )
  }

  /** One at a time, lest two give up twice as much. */
  function makeRoom(waiting: Waiting): Promise<Waiting[] | undefined> {
    const made = makingRoom.then(() => giveUpFor(waiting))
    makingRoom = made.catch(() => undefined)
    return made
  }

  /** Gives up the oldest of the least important, none as important as the newcomer, and nothing in vain. */
  async function giveUpFor(waiting: Waiting): Promise<Waiting[] | undefined> {
    const { state } = await jsm.streams.info(STREAM)
    let missing = storedBytes(waiting, partBytes) - (bytes - state.bytes)
    const victims: Stored[] = []
    for (const priority of PRIORITIES_DOWN.filter((lower) => lower > waiting.priority))
      for await (const victim of walk(`spool.${priority}.>`)) {
        if (missing <= 0) break
        if (lanes.held(victim.seq)) continue
        victims.push(victim)
        missing -= storedBytes(victim.entry, partBytes)
      }
    return missing > 0 ? undefined : removeAll(victims)
  }

  async function take(...args: Parameters<Spool['take']>): Promise<Lease[]> {
    const taken = await lanes.take(...args)
    return taken.map(leaseOf)
  }

  async function read({ id }: Lease): Promise<KeptBody> {
    const held = lanes.held(id)
    if (held) return held.entry.parts ? keptParts(held.entry.parts) : held.body
    const message = await jsm.streams.getMessage(STREAM, { seq: id })
    if (!message) throw new Error('it is gone: another replica has settled it')
    const { parts: numbers } = decodeEntry(message.header)
    return numbers ? keptParts(numbers) : Buffer.from(message.data)
  }

  function keptParts(numbers: readonly number[]): KeptBody {
    return { open: () => parts.read(numbers) }
  }

  async function extend(lease: Lease, leaseMs: number): Promise<Lease> {
    const until = now() + leaseMs
    if (lanes.extend(lease.id, until)) return { ...lease, until }
    return { ...lease, until, id: await putAgain(lease, until) }
  }

  async function postpone(lease: Lease, at: number): Promise<void> {
    if (lease.until > now() && !(await lanes.postpone(lease.id, at))) await putAgain(lease, at)
  }

  /**
   * The lease of a putter stands in its message, which no consumer has delivered to it: the message is put again with another time, and
   * the first one deleted. It happens to envelopes whose first attempt was under way when they were put, and failed. Without room for
   * both it stays as it is, due when its lease ends.
   */
  async function putAgain(lease: Lease, due: number): Promise<number> {
    const message = await insist(() => jsm.streams.getMessage(STREAM, { seq: lease.id }))
    if (!message) return lease.id
    try {
      const { seq } = await publish(
        subjectOf(lease, 'again', uploadOf(message.subject)),
        Buffer.from(message.data),
        encodeEntry({ ...decodeEntry(message.header), due, attempts: lease.attempts }),
        `${lease.key}.${lease.id}`,
      )
      await deleteMessage(lease.id)
      return seq
    } catch (error) {
      if (codeOf(error) === FULL) return lease.id
      throw error
    }
  }

  async function finish(lease: Lease): Promise<boolean> {
    const upload = fits(lease, partBytes) ? undefined : await uploadAt(lease.id)
    lanes.forget(lease.id)
    return remove(lease, lease.id, upload)
  }

  async function uploadAt(seq: number): Promise<string | undefined> {
    const held = lanes.held(seq)
    return held ? held.upload : (await find(seq))?.upload
  }

  /** Those put are in the order of their age; those put again are few, and looked at each. */
  async function expire(before: number): Promise<Waiting[]> {
    const old: Stored[] = []
    for await (const stored of walk(subjectsOf('first'))) {
      if (stored.entry.received >= before || old.length === AT_A_TIME) break
      old.push(stored)
    }
    let seen = 0
    for await (const stored of walk(subjectsOf('again'))) {
      if (stored.entry.received < before) old.push(stored)
      if (++seen === AT_A_TIME) break
    }
    await parts.sweep()
    return removeAll(old)
  }

  /** Those that no other replica removed before. */
  async function removeAll(all: readonly Stored[]): Promise<Waiting[]> {
    const removed = await Promise.all(all.map(({ entry, seq, upload }) => remove(entry, seq, upload)))
    return all.filter((_, i) => removed[i]).map(({ entry }) => waitingOf(entry))
  }

  /** The message that names the parts first: parts without it are litter, it without them is a loss. */
  async function remove(waiting: Waiting, seq: number, upload: string | undefined): Promise<boolean> {
    if (!(await deleteMessage(seq))) return false
    if (upload !== undefined) await parts.remove(upload)
    shares.remove(waiting)
    return true
  }

  async function deleteMessage(seq: number): Promise<boolean> {
    try {
      return await insist(() => jsm.streams.deleteMessage(STREAM, seq, false), GONE)
    } catch (error) {
      if (codeOf(error) === GONE) return false
      throw error
    }
  }

  async function find(seq: number): Promise<Stored | undefined> {
    return storedIn(await insist(() => jsm.streams.getMessage(STREAM, { seq })))
  }

  /** Those whose subjects match, one by one, the oldest first. */
  async function* walk(subject: string): AsyncGenerator<Stored> {
    for (let seq = 1; ; seq++) {
      const query: SeqMsgRequest & NextMsgRequest = { seq, next_by_subj: subject }
      const next = storedIn(await insist(() => jsm.streams.getMessage(STREAM, query)))
      if (!next) return
      yield next
      seq = next.seq
    }
  }

  /** What a replica finds that has no other to ask, up to a limit. */
  async function* found(): AsyncGenerator<Waiting> {
    let seen = 0
    for await (const { entry } of walk(ENVELOPES)) {
      yield entry
      if (++seen === AT_A_TIME) return
    }
  }

  async function totals(): Promise<SpoolTotals> {
    const { lanes: all, messages } = await lanes.look()
    if (messages === 0 && putting === 0) shares.reset()
    const byProject = all.map(({ project, category, subject, envelopes }) => ({
      ...{ project, category, envelopes },
      bytes: shares.ofLane(subject, envelopes),
    }))
    const oldest = await receivedFirst()
    return {
      envelopes: byProject.reduce((sum, { envelopes }) => sum + envelopes, 0),
      bytes: byProject.reduce((sum, { bytes }) => sum + bytes, 0),
      ...(oldest !== undefined && { oldest }),
      byProject,
    }
  }

  async function receivedFirst(): Promise<number | undefined> {
    const firsts = await Promise.all(
      (['first', 'again'] as const).map(async (turn) => (await walk(subjectsOf(turn)).next()).value),
    )
    const times = firsts.flatMap((stored) => stored?.entry.received ?? [])
    return times.length > 0 ? Math.min(...times) : undefined
  }

  async function close(): Promise<void> {
    lanes.close()
    await nc.close()
  }
}

/** Tries for 5 s, in which the server may restart or its leader move; an error with the code `final` is one at once. */
async function insist<T>(ask: (timeoutMs: number) => Promise<T>, final?: number): Promise<T> {
  const end = performance.now() + ANSWER_MS
  for (;;) {
    const rest = end - performance.now()
    try {
      return await ask(Math.max(1, Math.min(TRY_MS, rest)))
    } catch (error) {
      if ((final !== undefined && codeOf(error) === final) || rest <= PAUSE_MS) throw error
      await wait(PAUSE_MS)
    }
  }
}

function storedIn(message: StoredMsg | null): Stored | undefined {
  if (!message) return undefined
  return { entry: decodeEntry(message.header), seq: message.seq, upload: uploadOf(message.subject) }
}

function leaseOf({ entry, seq, attempts, until }: Taken): Lease {
  return { ...waitingOf(entry), id: seq, attempts, until }
}

function waitingOf({
  due: _due,
  parts: _parts,
  mark: _mark,
  attempts: _attempts,
  ...waiting
}: Entry): Waiting {
  return waiting
}
