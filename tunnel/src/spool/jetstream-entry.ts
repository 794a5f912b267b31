/** How an envelope stands in the stream: its subject, and all but its body in one header. */

import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import type { Waiting } from './spool.ts'

/** One that waits, as the stream holds it. */
export type Entry = Waiting & {
  /** Nobody takes it before, in milliseconds since 1970: its putter's lease, or the time it was put off to. */
  due?: number
  /** The messages that hold its body, when one cannot. */
  parts?: number[]
  /** Of the one call that put it. */
  mark?: string
  /** How often it was taken before it was put again. */
  attempts?: number
}

/** Envelopes of one project and category, which have a consumer of their own: what is held back is not even looked at. */
export type Lane = { priority: number; project: string; category: string }

export type Turn = 'first' | 'again'

export type NamedLane = Lane & { subject: string }

export const STREAM = 'CULVERT_SPOOL'
/**
 * `spool.<priority>.<project>.<category>.<turn>.<upload>`: the project in base64url, the turn `first` or, when it was put again with another
 * time, `again`, the upload `whole` for a body in one message.
 */
export const ENVELOPES = 'spool.>'
/** `spool-part.<upload>`: bodies in several messages. */
export const PARTS = 'spool-part.>'

const HEADER = 'Culvert'
const WHOLE = 'whole'
const NO_CATEGORY = '-'

export function laneOf({ priority, project, category }: Lane): string {
  return `spool.${priority}.${Buffer.from(project).toString('base64url')}.${category || NO_CATEGORY}`
}

/** `upload` names the parts of a body in several messages. */
export function subjectOf(lane: Lane, turn: Turn, upload = WHOLE): string {
  return `${laneOf(lane)}.${turn}.${upload}`
}

/** Those of one turn, of one priority or of all. */
export function subjectsOf(turn: Turn, priority: number | '*' = '*'): string {
  return `spool.${priority}.*.*.${turn}.*`
}

export function partSubjectOf(upload: string): string {
  return `spool-part.${upload}`
}

export function parseLane(subject: string): NamedLane {
  const [, priority, project = '', category = ''] = subject.split('.')
  return {
    priority: Number(priority),
    project: Buffer.from(project, 'base64url').toString(),
    category: category === NO_CATEGORY ? '' : category,
    subject: subject.split('.', 4).join('.'),
  }
}

/** The upload that a subject of `ENVELOPES` or `PARTS` names; `undefined` for a body in one message. */
export function uploadOf(subject: string): string | undefined {
  const upload = subject.slice(subject.lastIndexOf('.') + 1)
  return upload === WHOLE ? undefined : upload
}

export function encodeEntry(entry: Entry): MsgHdrs {
  const headers = newHeaders()
  headers.set(HEADER, toText(entry))
  return headers
}

/** JSON in ASCII: what else a header of NATS may hold is not said anywhere. */
function toText(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Throws when it is not one of ours. */
export function decodeEntry(headers: MsgHdrs | undefined): Entry {
  return JSON.parse(headers?.get(HEADER) ?? '')
}

/** Whether one message can hold it, which has 4 KiB more than `partBytes`. */
export function fits({ bytes, headers }: Waiting, partBytes: number): boolean {
  return bytes + toText(headers).length <= partBytes
}

/** What it takes of the stream's bytes, within a few per cent and never less. */
export function storedBytes(entry: Entry, partBytes: number): number {
  const framing = 200 + 2 * laneOf(entry).length
  return entry.bytes + toText(entry).length + framing + Math.ceil(entry.bytes / partBytes) * 100
}
