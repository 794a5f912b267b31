/** The spool of several machines: a stream of NATS JetStream that all replicas share. */

import { randomUUID } from 'node:crypto'
import { jetstream, type StoredMsg } from '@nats-io/jetstream'
import type {
  EntryRef,
  Lease,
  PartitionTotals,
  PutResult,
  Spool,
  SpoolBody,
  SpoolBounds,
  SpoolEntry,
  SpoolTotals,
  StoredBody,
} from '../spool.ts'
import { openEntryAdmin } from './admin.ts'
import { openParts } from './chunks.ts'
import {
  decodeEntry,
  ENVELOPES,
  type Entry,
  entryOf,
  fits,
  STREAM,
  storedBytes,
  subjectsOf,
} from './codec.ts'
import { ANSWER_MS, connectNats } from './connection.ts'
import { type CountedPartition, openPartitions, type Taken } from './consumers.ts'
import { openRoom } from './eviction.ts'
import { openProgress } from './lease-status.ts'
import { FULL, openMessages, type Stored } from './messages.ts'
import type { NatsAddress } from './nats-url.ts'
import { openPauses } from './pauses.ts'
import { openPublish } from './publish.ts'
import { openPutAgain, removePrevious, standsAlone } from './reschedule.ts'
import { codeOf, openStream } from './stream.ts'
import { openShares } from './usage.ts'

export type JetStreamBounds = Omit<SpoolBounds, 'bytes'> & {
  /** `undefined` leaves the bound of a stream that is there. */
  bytes: number | undefined
  /** Milliseconds that an envelope may wait. */
  ageMs: number
}

const HEADER_BYTES = 4 * 1024
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
  const { config, created, pauses } = await openStreams().catch(async (error: Error) => {
    await nc.close()
    throw error
  })
  const bytes = config.max_bytes
  const partBytes = (nc.info?.max_payload ?? 1024 * 1024) - HEADER_BYTES
  const messages = openMessages(js, jsm)
  const parts = openParts(
    jsm,
    async (subject, part) => (await messages.publish(subject, part)).seq,
    partBytes,
    now,
  )
  const publish = openPublish({ messages, parts, partBytes, now })
  const putAgain = openPutAgain(messages)
  const partitions = openPartitions(nc, jsm, pauses, now)
  const progress = openProgress(nc, partitions.progress)
  const shares = await openShares(nc, found, weigh)
  const { storedAt, ...entryAdmin } = openEntryAdmin({ pauses, messages, putAgain, progress, removeAll, now })
  const room = openRoom({ jsm, bounds: { ...bounds, bytes }, shares, messages, partitions, weigh, removeAll })
  let putting = 0

  return {
    id: `${STREAM}-${created}`, // one stream, whichever server tells of it
    maxBytes: bytes,
    put,
    take,
    read,
    extend,
    finish,
    postpone,
    expire,
    totals,
    ...entryAdmin,
    close,
  }

  async function openStreams() {
    const { replicas } = address
    const { config, created } = await openStream(jsm, { ...bounds, replicas })
    return { config, created, pauses: await openPauses(js, jsm, replicas) }
  }

  async function put(entry: SpoolEntry, body: SpoolBody, leaseMs: number): Promise<PutResult> {
    const { network } = entry
    const weight = weigh(entry)
    if (network !== '' && shares.ofNetwork(network) + weight > bytes * bounds.addressShare)
      return { kind: 'full', reason: 'address-share' }
    if (weight > bytes) return { kind: 'full', reason: 'bound' }
    shares.add(entry)
    putting++
    let result: PutResult | undefined
    try {
      result = await putWithin(entry, body, leaseMs)
      return result
    } finally {
      putting--
      if (result?.kind !== 'stored') shares.remove(entry)
    }
  }

  function weigh(entry: SpoolEntry): number {
    return storedBytes(entry, partBytes)
  }

  /** Again and again, as long as there is room to be made. */
  async function putWithin(waiting: SpoolEntry, body: SpoolBody, leaseMs: number): Promise<PutResult> {
    if (!(await room.inShare(waiting))) return { kind: 'full', reason: 'project-share' }
    const mark = randomUUID()
    for (let round = 0; round <= ROUNDS; round++) {
      try {
        const until = now() + leaseMs
        const entry = { ...waiting, mark, ...(leaseMs > 0 && { due: until }) }
        const seq = await publish(entry, body)
        if (seq === undefined) return { kind: 'known' }
        const lease = { ...waiting, id: seq, attempts: 0, until }
        return { kind: 'stored', lease, evicted: room.givenUp() }
      } catch (error) {
        if (codeOf(error) !== FULL) throw error
        if (!(await room.inBound(waiting))) break
      }
    }
    return { kind: 'full', reason: 'bound' }
  }

  async function take(...args: Parameters<Spool['take']>): Promise<Lease[]> {
    const taken = await partitions.take(...args)
    const alone = await Promise.all(taken.map((each) => standsAlone(messages, each).catch(() => false)))
    for (const [i, { seq }] of taken.entries()) if (!alone[i]) partitions.forget(seq)
    return taken.filter((_, i) => alone[i]).map(leaseOf)
  }

  async function read({ id, key, place = id }: SpoolEntry & EntryRef): Promise<StoredBody> {
    const held = partitions.held(place)
    if (held) return held.entry.parts ? keptParts(held.entry.parts) : held.body
    const message = (await messages.get(place)) ?? (await messageOf({ id, key }))
    if (!message) throw new Error('it is gone: another replica has settled it')
    const { parts: numbers } = decodeEntry(message.header)
    return numbers ? keptParts(numbers) : Buffer.from(message.data)
  }

  async function messageOf(ref: EntryRef): Promise<StoredMsg | null> {
    const stored = await storedAt(ref)
    return stored ? messages.get(stored.seq) : null
  }

  function keptParts(numbers: readonly number[]): StoredBody {
    return { open: () => parts.read(numbers) }
  }

  async function extend(lease: Lease, leaseMs: number): Promise<Lease> {
    const until = now() + leaseMs
    if (partitions.extend(lease.id, until)) return { ...lease, until }
    return { ...lease, until, id: await move(lease, until) }
  }

  async function postpone(lease: Lease, at: number): Promise<void> {
    if (lease.until > now() && !(await partitions.postpone(lease.id, at))) await move(lease, at)
  }

  /**
   * The lease of a putter stands in its message, which no consumer has delivered to it. It happens to envelopes whose first attempt was under
   * way when they were put, and failed. What stays as it is is due when its lease ends.
   */
  async function move({ id, attempts }: Lease, due: number): Promise<number> {
    return (await putAgain(id, due, attempts)) ?? id
  }

  async function finish(lease: Lease): Promise<boolean> {
    const upload = fits(lease, partBytes) ? undefined : await uploadAt(lease.id)
    partitions.forget(lease.id)
    return remove(lease, lease.id, upload)
  }

  async function uploadAt(seq: number): Promise<string | undefined> {
    const held = partitions.held(seq)
    return held ? held.upload : (await messages.find(seq))?.upload
  }

  /** Those put are in the order of their age; those put again are few, and looked at each. */
  async function expire(before: number): Promise<SpoolEntry[]> {
    const old: Stored[] = []
    for await (const stored of messages.walk(subjectsOf('first'))) {
      if (stored.entry.received >= before || old.length === AT_A_TIME) break
      old.push(stored)
    }
    let seen = 0
    for await (const stored of messages.walk(subjectsOf('again'))) {
      if (stored.entry.received < before) old.push(stored)
      if (++seen === AT_A_TIME) break
    }
    await parts.sweep()
    const gone = await removeAll(old)
    return [...room.givenUp(), ...gone]
  }

  /** Those that no other replica removed before. They are told even when the server went away before it had removed all of them. */
  async function removeAll(some: readonly Stored[]): Promise<SpoolEntry[]> {
    const replaced = new Set(some.map(({ entry }) => entry.previous))
    const all = some.filter(({ seq }) => !replaced.has(seq)) // it goes with its copy, and is told once
    const removed = await Promise.allSettled(all.map(({ entry, seq, upload }) => remove(entry, seq, upload)))
    const gone = all.filter((_, i) => removed[i]?.status === 'fulfilled' && removed[i].value)
    const failure = removed.find((each) => each.status === 'rejected')
    if (failure && gone.length === 0) throw failure.reason
    return gone.map(({ entry }) => entryOf(entry))
  }

  /** The messages that name the parts first: parts without them are litter, they without parts are a loss. */
  async function remove(entry: Entry, seq: number, upload: string | undefined): Promise<boolean> {
    if (!(await messages.remove(seq))) return false
    await removeBeside(entry, upload).catch(() => undefined) // parts are swept up later
    shares.remove(entry)
    return true
  }

  async function removeBeside(entry: Entry, upload: string | undefined): Promise<void> {
    await removePrevious(messages, entry)
    if (upload !== undefined) await parts.remove(upload)
  }

  /** What a replica finds that has no other to ask, up to a limit. */
  async function* found(): AsyncGenerator<SpoolEntry> {
    let seen = 0
    for await (const { entry } of messages.walk(ENVELOPES)) {
      yield entry
      if (++seen === AT_A_TIME) return
    }
  }

  async function totals(): Promise<SpoolTotals> {
    const { partitions: all, messages: many, bytes: stored, paused } = await partitions.look()
    if (many === 0 && putting === 0) shares.reset()
    const byProject = await Promise.all(all.map(totalsOf))
    const ages = byProject.flatMap(({ oldest }) => oldest ?? [])
    return {
      envelopes: byProject.reduce((sum, { envelopes }) => sum + envelopes, 0),
      bytes: stored,
      ...(ages.length > 0 && { oldest: Math.min(...ages) }),
      partitions: byProject,
      paused,
    }
  }

  async function totalsOf({
    project,
    category,
    subject,
    envelopes,
    turns,
  }: CountedPartition): Promise<PartitionTotals> {
    const firsts = await Promise.all(
      turns.map(async (turn) => (await messages.walk(`${subject}.${turn}.*`).next()).value),
    )
    const times = firsts.flatMap((first) => first?.entry.received ?? [])
    return {
      ...{ project, category, envelopes },
      bytes: shares.ofLane(subject, envelopes),
      ...(times.length > 0 && { oldest: Math.min(...times) }),
    }
  }

  async function close(): Promise<void> {
    partitions.close()
    await nc.close()
  }
}

function leaseOf({ entry, seq, attempts, until }: Taken): Lease {
  return { ...entryOf(entry), id: seq, attempts, until }
}
