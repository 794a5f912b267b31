/** Summary of an envelope for the list of the inbox: title, group, and the fields that can be searched. */

import {
  type Name,
  nameOf,
  nameOfTypes,
  nameOfUnread,
  TITLE_TYPES,
  type TitleType,
} from 'contract/inbox-title'
import { type Json, list, object, scalarText as text } from 'contract/json'
import { groupId, groupOf, patternOf } from '../envelope/grouping.ts'
import { maxValues } from '../envelope/header-parser.ts'
import type { Item } from '../envelope/items.ts'
import { cut } from '../envelope/summary.ts'

/** Absent texts are empty. */
export type Summary = {
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

/** Labels of the envelope that a search finds. */
type Ids = { id: string; event_id: string | null }

/** Summarises an envelope. Neither the types of its items nor their payloads are trusted. */
export function summarise(ids: Ids, items: readonly Item[], envelope: Buffer): Summary {
  for (const type of TITLE_TYPES) {
    const item = items.find((each) => each.type === type)
    const payload = item && readPayload(item, envelope)
    if (payload === 'too large') return summaryOf(ids, nameOfUnread(type), undefined, {})
    if (!payload) continue
    const name = nameOf(type, payload)
    return summaryOf(ids, name, groupIdOf(type, name, payload), payload)
  }
  const types = items.map((item) => item.type)
  const name = nameOfTypes(types)
  return summaryOf(ids, name, groupId([name.kind]), {})
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
): Summary {
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
  const labels = [ids.id, ids.event_id ?? '', text(json.event_id), traceOf(json)]
  const searched = [...Object.values(found), cut(url, LENGTH.url), ...labels.map((each) => cut(each))]
  return {
    ...found,
    isError,
    group: group ?? groupId([ids.id]),
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
function readPayload({ range: [start, end], bytes }: Item, envelope: Buffer): Json | 'too large' | undefined {
  if (bytes > MAX_BYTES) return 'too large'
  const payload = payloadOf(envelope.subarray(start, end), bytes)
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
