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
import { Rejection } from 'contract/rejections'
import { browserOf } from 'contract/user-agent'
import { type Group, groupId, groupOf, groupOfAttachment, patternOf } from '../envelope/grouping.ts'
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
  /** Place of an error. Absent in entries of earlier releases. */
  culprit?: string
  /** Browser of an event. Absent in entries of earlier releases. */
  browser?: string
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
const KEPT_BYTES = 4 * 1024 * 1024 // of the payloads in memory

/** Labels of the envelope that a search finds. */
type Ids = { receipt: string; eventId?: string | undefined }

/** Summarises an envelope whose chunks are pushed. Neither the types of its items nor their payloads are trusted. */
export class Summariser {
  readonly #reader: EnvelopeReader
  /** It cannot be parsed. */
  #isBroken = false

  constructor() {
    const unread = new Set<string>(TITLE_TYPES)
    const keep = (type: string) => unread.delete(type) // the first item of each type
    this.#reader = new EnvelopeReader({
      ...DEFAULT_HEADER_LIMITS,
      items: MAX_ITEMS,
      keep,
      keptBytes: KEPT_BYTES,
    })
  }

  push(chunk: Buffer): void {
    if (!this.#isBroken) this.#parse(() => this.#reader.push(chunk))
  }

  end(ids: Ids): Summary {
    const items = (this.#isBroken ? undefined : this.#parse(() => this.#reader.end().items)) ?? []
    const types = JSON.stringify(
      items
        .slice(0, MAX_TYPES)
        .map(({ type }) => (type === 'sessions' ? 'session' : type.slice(0, MAX_TYPE_LENGTH))),
    )
    return { types, ...describeItems(ids, items) }
  }

  #parse<T>(parse: () => T): T | undefined {
    try {
      return parse()
    } catch (error) {
      if (!(error instanceof Rejection)) throw error
      this.#isBroken = true
      return undefined
    }
  }
}

type Described = Omit<Summary, 'types'>

type KnownGroup = Pick<Group, 'id'> & Partial<Pick<Group, 'culprit'>>

function describeItems(ids: Ids, items: readonly Item[]): Described {
  for (const type of TITLE_TYPES) {
    const item = items.find((each) => each.type === type)
    const payload = item && readPayload(item)
    if (payload === 'too large') return summaryOf(ids, nameOfUnread(type), undefined, {})
    if (!payload) continue
    const name = nameOf(type, payload)
    return summaryOf(ids, name, groupIn(type, name, payload), payload)
  }
  const types = items.map((item) => item.type)
  const name = nameOfTypes(types)
  const crash = items.find(isEventAttachment)
  return summaryOf(ids, name, crash ? groupOfAttachment(crash) : { id: groupId([name.kind]) }, {})
}

/** Returns the group of an envelope; `undefined` for one that has no other envelope. */
function groupIn(type: TitleType, { kind, subject }: Name, json: Json): KnownGroup | undefined {
  if (type === 'event') return groupOf(json)
  if (type === 'replay_event') return { id: groupId(['replay', text(json.replay_id)]) }
  return subject === undefined ? undefined : { id: groupId([kind, patternOf(subject)]) }
}

function summaryOf(
  ids: Ids,
  { kind, title, isError = false }: Name,
  group: KnownGroup | undefined,
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
    culprit: cut(group?.culprit || (isError ? text(json.transaction) : ''), LENGTH.name),
    browser: cut(browserOf(json)),
    replay: cut(replayOf(json), LENGTH.id),
  }
  const labels = [ids.receipt, ids.eventId ?? '', text(json.event_id), traceOf(json)]
  const searched = [...Object.values(found), cut(url, LENGTH.url), ...labels.map((each) => cut(each))]
  return {
    ...found,
    isError,
    group: group?.id ?? groupId([ids.receipt]),
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
function readPayload({ bytes, payload: chunks }: Item): Json | 'too large' | undefined {
  if (bytes > MAX_BYTES || (bytes > 0 && chunks.length === 0)) return 'too large'
  const payload = Buffer.concat(chunks)
  if (maxValues(payload) > MAX_VALUES) return 'too large'
  try {
    return object(JSON.parse(payload.toString('utf8')))
  } catch {
    return undefined
  }
}
