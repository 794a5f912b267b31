/** Summary of an envelope for the list of the inbox: title, group, and the fields that can be searched. */

import { closeSync, openSync, readSync } from 'node:fs'
import {
  type Name,
  nameOf,
  nameOfTypes,
  nameOfUnread,
  TITLE_TYPES,
  type TitleType,
} from 'contract/inbox-title'
import { type Json, list, object, scalarText as text } from 'contract/json'
import { Rejection } from 'contract/rejections'
import { groupId, groupOf, groupOfAttachment, patternOf } from '../envelope/grouping.ts'
import { maxValues } from '../envelope/header-parser.ts'
import { DEFAULT_HEADER_LIMITS, MAX_ITEMS } from '../envelope/headers.ts'
import { type Item, isEventAttachment } from '../envelope/items.ts'
import { EnvelopeReader } from '../envelope/reader.ts'
import { cut } from '../envelope/summary.ts'

/** Absent texts are empty. */
export type Summary = {
  /** Types of the items, a JSON list. */
  types: string
  group: string
  kind: string
  title: string
  isError: boolean
  release: string
  environment: string
  /** ID of the replay that the envelope is a segment of, or during which its error was raised. */
  replay: string
  /** Number of the segment, for segments of a replay. */
  segment: number | null
  /** Time of the event in milliseconds since 1970. */
  raised: number | null
  /** Distinguishes users, for their number. */
  user: string
  /** Text that a search looks through, in lower case. */
  search: string
}

/** Larger payloads are not parsed. Events of SDKs are smaller, and parsing one of these takes a few milliseconds. */
const MAX_BYTES = 256 * 1024
const MAX_VALUES = 20_000

const LENGTH = { title: 300, name: 200, environment: 64, id: 36, url: 500 } // of texts, in characters

const MAX_TIME = 8.64e15 // of a Date

const MAX_TYPES = 100 // a sender may name a thousand types of 64 KiB
const MAX_TYPE_LENGTH = 64
const CHUNK_BYTES = 256 * 1024
const HEAD_BYTES = 1024 * 1024

/** Labels of the envelope that a search finds. */
type Ids = { receipt: string; eventId?: string | undefined }

/** Returns bytes of an envelope, by their positions. */
type ReadBytes = (start: number, end: number) => Buffer

/** Summarises an envelope. Neither the types of its items nor their payloads are trusted. */
export function summariseBytes(ids: Ids, body: Uint8Array): Summary {
  const envelope = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return summariseItems(ids, itemsOf([envelope]), (start, end) => envelope.subarray(start, end))
}

/** Summarises an envelope in a file, of which no more than a chunk or a payload is in memory. */
export function summariseFile(ids: Ids, path: string): Summary {
  const file = openSync(path, 'r')
  const read: ReadBytes = (start, end) => {
    const bytes = Buffer.allocUnsafe(end - start)
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, start))
  }
  try {
    return summariseItems(ids, itemsOf(chunksOf(read)), read)
  } finally {
    closeSync(file)
  }
}

/** Summarises an envelope that is read once. Payloads behind its first MiB are not parsed. */
export async function summariseStream(
  ids: Ids,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<Summary> {
  const reader = createReader()
  const head: Buffer[] = []
  let bytes = 0
  const readAll = async () => {
    for await (const chunk of chunks) {
      reader.push(chunk)
      if (bytes < HEAD_BYTES) head.push(chunk)
      bytes += chunk.length
    }
    return reader.end().items
  }
  const items = await readAll().catch(noItems)
  const start = Buffer.concat(head)
  return summariseItems(ids, items, (from, to) => start.subarray(from, to))
}

function* chunksOf(read: ReadBytes): Generator<Buffer> {
  for (let at = 0, chunk = read(0, CHUNK_BYTES); chunk.length > 0; chunk = read(at, at + CHUNK_BYTES)) {
    yield chunk
    at += chunk.length
  }
}

/** Returns no items for an envelope that cannot be parsed. */
function itemsOf(chunks: Iterable<Buffer>): readonly Item[] {
  const reader = createReader()
  try {
    for (const chunk of chunks) reader.push(chunk)
    return reader.end().items
  } catch (error) {
    return noItems(error)
  }
}

function createReader(): EnvelopeReader {
  return new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: MAX_ITEMS, keep: () => false })
}

function noItems(error: unknown): readonly Item[] {
  if (error instanceof Rejection) return []
  throw error
}

function summariseItems(ids: Ids, items: readonly Item[], read: ReadBytes): Summary {
  const types = JSON.stringify(items.slice(0, MAX_TYPES).map(({ type }) => type.slice(0, MAX_TYPE_LENGTH)))
  return { types, ...describeItems(ids, items, read) }
}

type Described = Omit<Summary, 'types'>

function describeItems(ids: Ids, items: readonly Item[], read: ReadBytes): Described {
  for (const type of TITLE_TYPES) {
    const item = items.find((each) => each.type === type)
    const payload = item && readPayload(item, read)
    if (payload === 'too large') return summaryOf(ids, nameOfUnread(type), undefined, {})
    if (!payload) continue
    const name = nameOf(type, payload)
    return summaryOf(ids, name, groupIdOf(type, name, payload), payload)
  }
  const types = items.map((item) => item.type)
  const name = nameOfTypes(types)
  const crash = items.find(isEventAttachment)
  return summaryOf(ids, name, crash ? groupOfAttachment(crash).id : groupId([name.kind]), {})
}

/** Returns the group of an envelope; `undefined` for one that has no other envelope. */
function groupIdOf(type: TitleType, { kind, subject }: Name, json: Json): string | undefined {
  if (type === 'event') return groupOf(json)?.id
  if (type === 'replay_event') return groupId(['replay', text(json.replay_id)])
  return subject === undefined ? undefined : groupId([kind, patternOf(subject)])
}

function summaryOf(
  ids: Ids,
  { kind, title, isError = false }: Name,
  group: string | undefined,
  json: Json,
): Described {
  const user = object(json.user)
  const segment = json.segment_id
  const url = text(object(json.request).url) || text(list(json.urls)[0])
  const attributes = object(json.attrs) // of a session
  const found = {
    release: cut(text(json.release) || text(attributes.release), LENGTH.name),
    environment: cut(text(json.environment) || text(attributes.environment), LENGTH.environment),
    title: cut(title || kind, LENGTH.title),
    kind: cut(kind),
    replay: cut(replayOf(json), LENGTH.id),
  }
  const labels = [ids.receipt, ids.eventId ?? '', text(json.event_id), traceOf(json)]
  const searched = [...Object.values(found), cut(url, LENGTH.url), ...labels.map((each) => cut(each))]
  return {
    ...found,
    isError,
    group: group ?? groupId([ids.receipt]),
    segment: kind === 'replay' && Number.isSafeInteger(segment) ? Number(segment) : null,
    raised: timeOf(json.timestamp),
    user: cut(text(user.id) || text(user.email) || text(user.username) || text(user.ip_address), LENGTH.name),
    search: searched.join('\n').toLowerCase(),
  }
}

function replayOf({ replay_id: own, tags, contexts }: Json): string {
  const { replay, feedback } = object(contexts)
  return (
    text(own) ||
    text(object(tags).replayId) ||
    text(object(replay).replay_id) ||
    text(object(feedback).replay_id)
  )
}

function traceOf({ contexts }: Json): string {
  return text(object(object(contexts).trace).trace_id)
}

/** Reads seconds since 1970, or a date. */
function timeOf(given: unknown): number | null {
  const time = typeof given === 'number' ? given * 1000 : Date.parse(text(given))
  return time >= 0 && time <= MAX_TIME ? Math.floor(time) : null
}

/** Returns `undefined` for a payload that is no JSON. */
function readPayload({ range: [start, end], bytes }: Item, read: ReadBytes): Json | 'too large' | undefined {
  if (bytes > MAX_BYTES) return 'too large'
  const payload = payloadOf(read(start, end), bytes)
  if (maxValues(payload) > MAX_VALUES) return 'too large'
  try {
    return object(JSON.parse(payload.toString('utf8')))
  } catch {
    return undefined
  }
}

/** Returns the payload of an item, which follows the line of its header. */
function payloadOf(item: Buffer, bytes: number): Buffer {
  const header = item.findIndex((byte) => byte > 0x20) // after blank space
  const line = item.indexOf(0x0a, Math.max(0, header))
  return line < 0 ? Buffer.alloc(0) : item.subarray(line + 1, line + 1 + bytes)
}
