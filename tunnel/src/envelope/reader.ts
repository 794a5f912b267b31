/** The parts of an envelope we judge by; payloads stay bytes. */

import type { Range } from '../body/ranges.ts'
import { Rejection } from '../rejections.ts'
import { type EnvelopeHeader, keepEnvelopeHeader, keepItemHeader } from './header-keys.ts'
import { cutMembers, type HeaderLine, parseHeaderLine, rawValue } from './header-parser.ts'
import { ITEM_TYPES, type Item } from './items.ts'
import { mostValues } from './json-values.ts'

export type { Item } from './items.ts'

/** The payload of an item that is not looked into. One array for all of them: an envelope may have a thousand. */
export const NO_PAYLOAD: readonly Buffer[] = []

export type Envelope = {
  header: EnvelopeHeader
  /** No key at all, known or unknown. */
  isHeaderEmpty: boolean
  eventId: string | undefined
  items: Item[]
  /** What must not go on: keys that only Relay may write, in the envelope's header and in the items'. */
  removedRanges: Range[]
  /** Bytes, unpacked. */
  bytes: number
}

export type HeaderLimits = {
  /** Bytes of the envelope's header line, and of each item's. */
  headerBytes: number
  /** Bytes of all header lines of one envelope. */
  totalHeaderBytes: number
  /** Keys of one header. */
  headerKeys: number
  /** Levels of objects and arrays in one header. */
  headerNesting: number
  /** Values in all headers of one envelope, nested ones included: what parsing costs is in proportion to them, not to bytes. */
  headerValues: number
}

export const DEFAULT_HEADER_LIMITS: HeaderLimits = {
  headerBytes: 64 * 1024,
  totalHeaderBytes: 1024 * 1024,
  headerKeys: 100,
  headerNesting: 16,
  headerValues: 20_000,
}

/** Halves what only an attack comes near, for a request that may have ended another replica. */
export function halveHeaderLimits(limits: HeaderLimits): HeaderLimits {
  return {
    headerBytes: limits.headerBytes,
    totalHeaderBytes: limits.totalHeaderBytes / 2,
    headerKeys: limits.headerKeys / 2,
    headerNesting: limits.headerNesting / 2,
    headerValues: limits.headerValues / 2,
  }
}

export type ReaderLimits = HeaderLimits & {
  items: number
  /** The first item of such a type keeps its payload, for a look; without one, not one byte of a payload is read. */
  keep: (type: string) => boolean
}

/**
 * Called once, as soon as the header can no longer be that of a connectivity probe (`{}` and no item). What it throws ends the reading
 * before anything else of the envelope is looked at.
 */
export type OnHeader = (header: EnvelopeHeader) => void

/** Taken from a body in any number of chunks, without copying a payload. */
export type EnvelopeReader = {
  /** Throws a `Rejection` at the first byte that no envelope has there. */
  push(chunk: Buffer): void
  /** Bytes that headers and items hold in memory. */
  parsedBytes(): number
  /** Bytes of the payload that is kept. */
  keptBytes(): number
  /** Forgets that payload. */
  dropPayload(): void
  /** Ends the body. Throws a `Rejection` when it must not end here. */
  end(): Envelope
}

// Keys that only Relay may write; with `forwarded_for` a browser could forge its address (PROTOCOL §1.1 and §2, from
// relay-server/src/extractors/request_meta.rs and relay-server/src/envelope/item.rs).
const RELAY_ENVELOPE_KEYS = new Set([
  'client',
  'version',
  'origin',
  'remote_addr',
  'forwarded_for',
  'user_agent',
  'client_hints',
  'no_cache',
  'retention',
  'downsampled_retention',
  'required_features',
])
const RELAY_ITEM_KEYS = new Set([
  'rate_limited',
  'source_quantities',
  'metrics_extracted',
  'spans_extracted',
  'sampled',
  'fully_normalized',
  'routing_hint',
])

const NEWLINE = 0x0a
const KEPT_BYTES = 1024 * 1024 // as large as an event may be
const ITEM_BYTES = 160 // measured: what an item without a payload takes of the heap
const MAX_LENGTH = 0xffff_ffff // Relay reads `length` as u32
const UUID = /^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i
const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/**
 * Reads by the grammar of Sentry's envelopes (PROTOCOL §1), on bytes: implicit and explicit lengths, empty items, no newline at the
 * end, unknown types kept. Blank space before a header is passed over, as Relay does; it refuses what Relay refuses.
 */
export function createEnvelopeReader(limits: ReaderLimits, onHeader?: OnHeader): EnvelopeReader {
  let state: 'header' | 'item' | 'sized' | 'unsized' | 'end' = 'header'
  let offset = 0 // bytes before the current chunk
  let line: Buffer[] = [] // a header line that began in an earlier chunk
  let gapStart = 0 // where blank space before a header begins: it goes with its item
  let lineStart = 0
  let lineBytes = 0
  let blanks = 0
  let missing = 0 // payload bytes still to come
  let header: EnvelopeHeader | undefined
  let isHeaderEmpty = false
  let isHeaderTold = false
  let headerBytes = 0 // of all lines so far
  let headerValues = 0
  let keptBytes = 0
  let item: Item | undefined
  let kept: Item | undefined
  const keptPayload: Buffer[] = []
  const items: Item[] = []
  const removedRanges: Range[] = []

  return {
    push,
    end,
    parsedBytes: () => headerBytes + items.length * ITEM_BYTES,
    keptBytes: () => keptBytes,
    dropPayload,
  }

  function push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (state === 'header' || state === 'item') at = takeLine(chunk, at)
      else if (state === 'sized') at = takeSized(chunk, at)
      else if (state === 'unsized') at = takeUnsized(chunk, at)
      else at = takeTerminator(chunk, at)
    }
    offset += chunk.length
  }

  function takeLine(chunk: Buffer, from: number): number {
    const start = lineBytes > 0 ? from : skipBlanks(chunk, from)
    if (lineBytes === 0) {
      if (blanks === 0) gapStart = offset + from
      lineStart = offset + start
      blanks += start - from
    }
    const newline = chunk.indexOf(NEWLINE, start)
    const end = newline < 0 ? chunk.length : newline
    lineBytes += end - start
    headerBytes += end - start
    if (lineBytes > limits.headerBytes)
      throw new Rejection('header-too-large', `It is longer than ${limits.headerBytes} bytes.`)
    if (headerBytes > limits.totalHeaderBytes)
      throw new Rejection('headers-too-large', `They are longer than ${limits.totalHeaderBytes} bytes.`)
    const part = chunk.subarray(start, end)
    if (newline < 0) {
      if (part.length > 0) line.push(part)
      return end
    }
    endLine(line.length > 0 ? Buffer.concat([...line, part]) : part)
    return newline + 1
  }

  function endLine(bytes: Buffer): void {
    line = []
    lineBytes = 0
    blanks = 0
    headerValues += mostValues(bytes)
    if (headerValues > limits.headerValues)
      throw new Rejection('header-too-complex', `There are more than ${limits.headerValues} values in all.`)
    if (state === 'header') beginEnvelope(bytes)
    else beginItem(bytes)
  }

  function beginEnvelope(bytes: Buffer): void {
    const parsed = parseHeaderLine(bytes)
    if (!parsed) throw new Rejection('not-an-envelope')
    checkComplexity(parsed)
    checkEnvelopeHeader(parsed.value)
    keepCuts(parsed, RELAY_ENVELOPE_KEYS)
    header = keepEnvelopeHeader(parsed.value)
    isHeaderEmpty = parsed.marks.length === 0
    state = 'item'
    if (!isHeaderEmpty) tellHeader(header)
  }

  function tellHeader(known: EnvelopeHeader): void {
    if (!isHeaderTold) onHeader?.(known)
    isHeaderTold = true
  }

  function checkComplexity({ marks, nesting }: HeaderLine): void {
    const keys = marks.length / 4
    if (keys > limits.headerKeys)
      throw new Rejection('header-too-complex', `It has more than ${limits.headerKeys} keys.`)
    if (nesting > limits.headerNesting)
      throw new Rejection('header-too-complex', `It is nested deeper than ${limits.headerNesting} levels.`)
  }

  function beginItem(bytes: Buffer): void {
    if (header) tellHeader(header)
    const parsed = parseHeaderLine(bytes)
    if (!parsed)
      throw new Rejection('item-header-invalid', `Item ${items.length + 1} begins with no JSON object.`)
    checkComplexity(parsed)
    const { type } = parsed.value
    if (typeof type !== 'string')
      throw new Rejection('item-header-invalid', `Item ${items.length + 1} has no type.`)
    if (type === 'integration') throw new Rejection('item-internal')
    if (items.length === limits.items)
      throw new Rejection('too-many-items', `It has more than ${limits.items}.`)
    keepCuts(parsed, RELAY_ITEM_KEYS)
    item = {
      type: internType(type),
      header: keepItemHeader(parsed.value),
      range: [gapStart, 0],
      bytes: 0,
      payload: NO_PAYLOAD,
    }
    items.push(item)
    if (!kept && limits.keep(type)) {
      kept = item
      item.payload = keptPayload
    }
    const length = readLength(parsed)
    missing = length ?? 0
    state = length === undefined ? 'unsized' : length === 0 ? 'end' : 'sized'
  }

  function keepCuts(parsed: HeaderLine, keys: ReadonlySet<string>): void {
    for (const [start, end] of cutMembers(parsed, keys))
      removedRanges.push([lineStart + start, lineStart + end])
  }

  function takeSized(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + missing)
    keepPayload(chunk, at, end)
    missing -= end - at
    if (missing === 0) state = 'end'
    return end
  }

  function takeUnsized(chunk: Buffer, at: number): number {
    const newline = chunk.indexOf(NEWLINE, at)
    const end = newline < 0 ? chunk.length : newline
    keepPayload(chunk, at, end)
    if (newline < 0) return end
    endItem(offset + newline + 1)
    return newline + 1
  }

  function keepPayload(chunk: Buffer, start: number, end: number): void {
    if (!item) return
    item.bytes += end - start
    if (item !== kept || item.bytes > KEPT_BYTES) return
    keptPayload.push(chunk.subarray(start, end))
    keptBytes += end - start
  }

  function dropPayload(): void {
    keptPayload.length = 0
    keptBytes = 0
    if (kept) kept.payload = NO_PAYLOAD
  }

  function takeTerminator(chunk: Buffer, at: number): number {
    if (chunk[at] !== NEWLINE)
      throw new Rejection(
        'item-malformed',
        `Item ${items.length} is followed by something other than a newline.`,
      )
    endItem(offset + at + 1)
    return at + 1
  }

  function endItem(end: number): void {
    if (item) item.range[1] = end
    state = 'item'
  }

  function end(): Envelope {
    if (offset === 0) throw new Rejection('empty-body')
    if (lineBytes > 0) endLine(Buffer.concat(line))
    else if (blanks > 0) throw new Rejection('item-malformed', 'It ends in blank space.')
    if (state === 'sized')
      throw new Rejection('item-malformed', `Item ${items.length} ends ${missing} bytes before its length.`)
    if (state === 'unsized' || state === 'end') endItem(offset)
    if (!header) throw new Rejection('not-an-envelope')
    const { event_id: eventId } = header
    return {
      header,
      isHeaderEmpty,
      eventId: typeof eventId === 'string' ? eventId : undefined,
      items,
      removedRanges,
      bytes: offset,
    }
  }
}

const INTERNED = new Map(Array.from(ITEM_TYPES, (type) => [type, type] as const))

/** One string for all items of a known type: each that is parsed is another one. */
function internType(type: string): string {
  return INTERNED.get(type) ?? type
}

function skipBlanks(chunk: Buffer, at: number): number {
  for (; at < chunk.length; at++) {
    const byte = chunk[at]
    if (byte !== 0x20 && byte !== NEWLINE && byte !== 0x0d && byte !== 0x09) break
  }
  return at
}

/** As Relay's `EnvelopeHeaders` reads them: present and ill-formed refuses the whole envelope, `null` counts as absent. */
function checkEnvelopeHeader({ event_id, sent_at, dsn }: HeaderLine['value']): void {
  if (!isAbsent(event_id) && !(typeof event_id === 'string' && UUID.test(event_id)))
    throw new Rejection('header-invalid', 'Its event_id is no UUID.')
  if (!isAbsent(sent_at) && !(typeof sent_at === 'string' && isTime(sent_at)))
    throw new Rejection('header-invalid', 'Its sent_at is no RFC 3339 time.')
  if (!isAbsent(dsn) && typeof dsn !== 'string')
    throw new Rejection('header-invalid', 'Its dsn is no string.')
}

/** `Date.parse` would take the 30th of February for the 2nd of March. */
function isTime(text: string): boolean {
  const [, year, month, day] = RFC_3339.exec(text) ?? []
  return year !== undefined && Number(day) >= 1 && Number(day) <= daysIn(Number(year), Number(month))
}

function daysIn(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month === 2 && isLeap ? 29 : ([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0)
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

/** `undefined` for a payload that ends at the next newline. */
function readLength(parsed: HeaderLine): number | undefined {
  const { length } = parsed.value
  if (isAbsent(length)) return undefined
  const raw = rawValue(parsed, 'length') ?? ''
  if (!/^(0|[1-9]\d{0,9})$/.test(raw) || Number(raw) > MAX_LENGTH)
    throw new Rejection('item-header-invalid', 'Its length is no plain number of bytes.')
  return Number(raw)
}
