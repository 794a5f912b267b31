/** How an envelope stands in the stream: its subject, and all but its body in one header. */

import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import type { EntryFilter, SpoolEntry } from '../spool.ts'

/** One that waits, as the stream holds it. */
export type Entry = SpoolEntry & {
  /** Nobody takes it before, in milliseconds since 1970: its putter's lease, or the time it was put off to. */
  due?: number
  /** The messages that hold its body, when one cannot. */
  parts?: number[]
  /** Of the one call that put it. */
  mark?: string
  /** How often it was taken before it was put again. */
  attempts?: number
  /** The number it was put under at first, when it was put again: what it is known by to operators. */
  first?: number
  /** The message it was put again from: the two stand side by side until that is removed. */
  previous?: number
}

/** Envelopes of one project and category, which have a consumer of their own: what is held back is not even looked at. */
export type Partition = { priority: number; project: string; category: string }

export type Turn = 'first' | 'again'

export type NamedPartition = Partition & { subject: string }

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

export function partitionOf({ priority, project, category }: Partition): string {
  return `spool.${priority}.${tokenOf(project)}.${category || NO_CATEGORY}`
}

export function tokenOf(project: string): string {
  return Buffer.from(project).toString('base64url')
}

export function projectOf(token: string): string {
  return Buffer.from(token, 'base64url').toString()
}

/** `upload` names the parts of a body in several messages. */
export function subjectOf(partition: Partition, turn: Turn, upload = WHOLE): string {
  return `${partitionOf(partition)}.${turn}.${upload}`
}

/** Those of one turn, of one priority or of all. */
export function subjectsOf(turn: Turn, priority: number | '*' = '*'): string {
  return `spool.${priority}.*.*.${turn}.*`
}

/** Those of one priority, of one project or of all. */
export function subjectsRanked(priority: number, project?: string): string {
  return `spool.${priority}.${project === undefined ? '*' : tokenOf(project)}.>`
}

/** What together matches some of those that wait, of one turn or of both. */
export function subjectsWithin({ projects, category }: EntryFilter, turn: Turn | '*' = '*'): string[] {
  const tokens = projects?.map(tokenOf) ?? ['*']
  const name = category === undefined ? '*' : category || NO_CATEGORY
  return tokens.map((token) => `spool.*.${token}.${name}.${turn}.*`)
}

export function partSubjectOf(upload: string): string {
  return `spool-part.${upload}`
}

export function parsePartition(subject: string): NamedPartition {
  const [, priority, project = '', category = ''] = subject.split('.')
  return {
    priority: Number(priority),
    project: projectOf(project),
    category: category === NO_CATEGORY ? '' : category,
    subject: subject.split('.', 4).join('.'),
  }
}

export function turnOf(subject: string): Turn {
  return subject.split('.', 5)[4] === 'again' ? 'again' : 'first'
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

/** Without what only the stream knows. */
export function entryOf({
  due: _due,
  parts: _parts,
  mark: _mark,
  attempts: _attempts,
  first: _first,
  previous: _previous,
  ...entry
}: Entry): SpoolEntry {
  return entry
}

/** Whether one message can hold it, which has 4 KiB more than `partBytes`. */
export function fits({ bytes, headers }: SpoolEntry, partBytes: number): boolean {
  return bytes + toText(headers).length <= partBytes
}

/** What it takes of the stream's bytes, parts and all, within a few per cent and never less; a lease on it weighs the same. */
export function storedBytes(entry: SpoolEntry, partBytes: number): number {
  const { key, project, category, priority, network, received, bytes, receipt, headers } = entry
  const plain = { key, project, category, priority, network, received, bytes, receipt, headers }
  const framing = 300 + 2 * partitionOf(entry).length // the server's own, and what an entry has beside
  return bytes + toText(plain).length + framing + Math.ceil(bytes / partBytes) * 110
}
