/** Streams, subjects, headers and numbers of spool entries on NATS JetStream. */

import { createHash } from 'node:crypto'
import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import type { EntryFilter, SpoolEntry } from '../../pipeline/spool.ts'

/** Entry as a message holds it, in one header, with times of the server. Elsewhere, all but `due` are those of this machine. */
export type Entry = SpoolEntry & {
  /** Names the put that stored it. */
  mark: string
  /** End of the lease that it was put with, in milliseconds since 1970. */
  due?: number
}

/** Entries of one project and category. They have a subject and a consumer of their own. */
export type Partition = Pick<SpoolEntry, 'priority' | 'project' | 'category'>

/** Stream and object bucket of one priority, of the same name, each with its share of `SPOOL_BYTES`. */
export type PriorityClass = { stream: string; share: number; objectShare: number }

export const NAME = 'CULVERT_SPOOL'
export const CLASSES: readonly PriorityClass[] = [
  { stream: `${NAME}_ERRORS`, share: 0.3, objectShare: 0.1 }, // feedback and monitors too
  { stream: `${NAME}_SESSIONS`, share: 0.1, objectShare: 0.1 }, // attachments too
  { stream: `${NAME}_TRANSACTIONS`, share: 0.15, objectShare: 0.05 }, // spans, logs, metrics and security reports too
  { stream: `${NAME}_REPLAYS`, share: 0.1, objectShare: 0.1 }, // profiles too
]
/** Larger bodies are objects, so that a batch of messages is small enough for memory. */
export const INLINE_BYTES = 256 * 1024

export const HEADER = 'Culvert'
/** Token of an absent category or event. */
export const NONE = '-'
const EPOCH_NANOS = 1_735_689_600_000_000_000n // 2025: microseconds since then, times four, have 15 digits
const FRAMING_BYTES = 300

export function classOf({ priority }: Pick<SpoolEntry, 'priority'>): PriorityClass {
  const found = CLASSES[priority]
  if (!found) throw new Error(`no stream for priority ${priority}`)
  return found
}

/** Subjects of a class. */
export function subjectsOf(priority: number): string {
  return `culvert.spool.${priority}.>`
}

export function subjectOf({ priority, project, category }: Partition): string {
  return `culvert.spool.${priority}.${encodeToken(project)}.${category || NONE}`
}

/** Subjects of the entries that a filter names. */
export function subjectsWithin(priority: number, { projects, category }: EntryFilter): string[] {
  const name = category === undefined ? '*' : category || NONE
  return (projects?.map(encodeToken) ?? ['*']).map((token) => `culvert.spool.${priority}.${token}.${name}`)
}

export function parseSubject(subject: string): Partition {
  const [, , priority, project = '', category = ''] = subject.split('.')
  return {
    priority: Number(priority),
    project: Buffer.from(project, 'base64url').toString(),
    category: category === NONE ? '' : category,
  }
}

export function consumerOf(partition: Partition): string {
  const hash = createHash('sha256').update(subjectOf(partition)).digest('hex').slice(0, 16)
  return `${partition.category || 'none'}-${hash}`
}

export function encodeEntry(entry: Entry): MsgHdrs {
  const headers = newHeaders()
  headers.set(HEADER, toAscii(entry))
  return headers
}

/** Returns `undefined` when the message is not an entry. The previous release writes `arrived` for an entry that was resent. */
export function decodeEntry(headers: MsgHdrs | undefined): Entry | undefined {
  const text = headers?.get(HEADER)
  if (!text) return undefined
  const { arrived, ...entry } = JSON.parse(text)
  return arrived === undefined ? entry : { ...entry, received: arrived }
}

/** Removes the fields that only the stream needs. */
export function toSpoolEntry({ mark: _mark, due: _due, ...entry }: Entry): SpoolEntry {
  return entry
}

/** Bytes that an entry takes of its streams, pending or not, within a few per cent. */
export function storedBytes(entry: SpoolEntry): number {
  return entry.bytes + toAscii(entry).length + subjectOf(entry).length + FRAMING_BYTES
}

/** Number of an entry: sequence and class of its message. */
export function encodeId(priority: number, seq: number): number {
  return seq * CLASSES.length + priority
}

export function decodeId(id: number): { priority: number; seq: number } {
  return { priority: id % CLASSES.length, seq: Math.floor(id / CLASSES.length) }
}

/** Place of an entry among those of all classes: the time at which its message was stored. */
export function encodePlace(priority: number, nanos: bigint): number {
  return Number((nanos - EPOCH_NANOS) / 1000n) * CLASSES.length + priority
}

/** Time of a place, as RFC 3339 with microseconds. */
export function timeOfPlace(place: number): string {
  const micros = Math.floor(place / CLASSES.length)
  const time = new Date(Number(EPOCH_NANOS / 1_000_000n) + Math.floor(micros / 1000))
  return time.toISOString().replace('Z', `${String(micros % 1000).padStart(3, '0')}Z`)
}

/** Text in base64url: a DSN holds characters that a subject may not. */
export function encodeToken(project: string): string {
  return Buffer.from(project).toString('base64url')
}

/** JSON in ASCII: NATS does not define other characters in headers. */
export function toAscii(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
