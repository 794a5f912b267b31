/** Envelope parser: reads headers and item boundaries from chunks of bytes, without copying a payload. */

import { hasSecret, withoutSecret } from 'contract/dsn'
import { Rejection } from 'contract/rejections'
import type { MemoryBudget } from './body/memory-budget.ts'
import type { Range } from './body/ranges.ts'
import { cutMembers, type HeaderLine, maxValues, parseHeaderLine, valueRange } from './header-parser.ts'
import {
  checkComplexity,
  type EnvelopeHeader,
  type HeaderLimits,
  hasOtherKeys,
  RELAY_ENVELOPE_KEYS,
  RELAY_ITEM_KEYS,
  readEnvelopeHeader,
  readItemHeader,
  readLength,
} from './headers.ts'
import { ITEM_TYPES, type Item, locateItem } from './items.ts'

export type Envelope = {
  header: EnvelopeHeader
  /** `true` for a header without any key. */
  isHeaderEmpty: boolean
  /** `true` for a header with keys that may be the fields of an event of the old store endpoint. */
  mayBeEvent: boolean
  eventId: string | undefined
  items: Item[]
  /** Value of `trace` in the header, and its position in the body. */
  trace: { bytes: Buffer; start: number } | undefined
  /** Ranges of header keys that only Relay may write. They must not be forwarded. */
  removedRanges: Range[]
  /** Decompressed bytes. */
  bytes: number
}

export type ReaderLimits = HeaderLimits & {
  items: number
  /** The payloads of items of such a type are kept for filters and scrubbing, up to `keptBytes` of an envelope. */
  keep: (type: string) => boolean
  /** 2 MiB if absent: an event may have 1 MiB, and 1,000 spans have as much. */
  keptBytes?: number
}

type ReaderOptions = {
  /** Called once, as soon as the body is neither a connectivity probe (`{}`) nor an event without an envelope. It may throw to end the parsing. */
  onHeader?: (header: EnvelopeHeader) => void
  /** Accounts for parsed headers and the kept payload. */
  memory?: MemoryBudget
}

const NEWLINE = 0x0a
export const DEFAULT_KEPT_BYTES = 2 * 1024 * 1024
const ITEM_BYTES = 160 // heap size of an item without a payload, measured
const KEPT_ITEM_BYTES = 400 // what a kept payload adds to it besides its bytes
const LIGHT_BYTES = 32 * 1024 // always granted: 200 items, or a long header
const NO_PAYLOAD: readonly Buffer[] = [] // shared, like known types: an envelope may have a thousand items
const INTERNED = new Map(Array.from(ITEM_TYPES, (type) => [type, type] as const))

/**
 * Parses Sentry's envelope grammar (develop.sentry.dev/sdk/data-model/envelopes) on bytes: implicit and explicit lengths, empty items, no newline at the end, unknown
 * types. Skips blank space before a header as Relay does, and rejects what Relay rejects.
 */
export class EnvelopeReader {
  readonly #limits: ReaderLimits
  readonly #memory: MemoryBudget | undefined
  #onHeader: ReaderOptions['onHeader']
  #state: 'header' | 'item' | 'sized' | 'unsized' | 'terminator' = 'header'
  #offset = 0 // bytes before the current chunk
  #line: Buffer[] = [] // parts of a header line from earlier chunks
  #gapStart = 0 // start of the blank space before a header, which belongs to its item
  #lineStart = 0
  #lineBytes = 0
  #blanks = 0
  #missing = 0 // payload bytes still to come
  #header: EnvelopeHeader | undefined
  #trace: Envelope['trace']
  #isHeaderEmpty = false
  #mayBeEvent = false
  #headerBytes = 0
  #headerValues = 0
  #item: Item | undefined
  #payload: Buffer[] | undefined // of the current item, if it is kept
  #keptPayloads: Buffer[][] = []
  #keptBytes = 0
  readonly #maxKeptBytes: number
  #reservedBytes = 0
  readonly #items: Item[] = []
  readonly #removedRanges: Range[] = []

  constructor(limits: ReaderLimits, { onHeader, memory }: ReaderOptions = {}) {
    this.#limits = limits
    this.#maxKeptBytes = limits.keptBytes ?? DEFAULT_KEPT_BYTES
    this.#onHeader = onHeader
    this.#memory = memory
  }

  /** Throws a `Rejection` at the first byte that breaks the grammar or a limit, and `tunnel-busy` without memory. */
  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#state === 'header' || this.#state === 'item') at = this.#readLine(chunk, at)
      else if (this.#state === 'sized') at = this.#readSized(chunk, at)
      else if (this.#state === 'unsized') at = this.#readUnsized(chunk, at)
      else at = this.#readTerminator(chunk, at)
    }
    this.#offset += chunk.length
    const parsedBytes = this.#parsedBytes()
    this.#reserve(parsedBytes + this.#keptBytes)
    if (parsedBytes > LIGHT_BYTES && this.#memory?.isExceeded()) throw new Rejection('tunnel-busy')
  }

  /** Ends the parsing. Throws a `Rejection` when the envelope is incomplete. */
  end(): Envelope {
    if (this.#offset === 0) throw new Rejection('empty-body')
    if (this.#lineBytes > 0) this.#endLine(Buffer.concat(this.#line))
    else if (this.#blanks > 0)
      throw new Rejection('item-malformed', 'There are blank lines after the last item.')
    const items = this.#items
    if (this.#state === 'sized')
      throw new Rejection(
        'item-malformed',
        `Item ${items.length} is ${this.#missing} bytes shorter than its length.`,
      )
    if (this.#state !== 'item') this.#endItem(this.#offset)
    const header = this.#header
    if (!header) throw new Rejection('not-an-envelope')
    const eventId = typeof header.event_id === 'string' ? header.event_id : undefined
    const [isHeaderEmpty, mayBeEvent, bytes] = [this.#isHeaderEmpty, this.#mayBeEvent, this.#offset]
    const [trace, removedRanges] = [this.#trace, this.#removedRanges]
    return { header, isHeaderEmpty, mayBeEvent, eventId, items, trace, removedRanges, bytes }
  }

  /** Drops the payloads that were kept. `heldBytes` of others, made of them, are in memory until `release`. */
  dropPayload(heldBytes = 0): void {
    for (const payload of this.#keptPayloads) payload.length = 0
    this.#keptPayloads = []
    this.#keptBytes = 0
    this.#reserve(this.#parsedBytes() + heldBytes)
  }

  /** Releases all reserved memory. */
  release(): void {
    this.#reserve(0)
  }

  #reserve(bytes: number): void {
    this.#memory?.reserve(bytes - this.#reservedBytes)
    this.#reservedBytes = bytes
  }

  #parsedBytes(): number {
    return this.#headerBytes + this.#items.length * ITEM_BYTES
  }

  #readLine(chunk: Buffer, from: number): number {
    const { headerBytes, totalHeaderBytes } = this.#limits
    const start = this.#lineBytes > 0 ? from : skipBlanks(chunk, from)
    if (this.#lineBytes === 0) {
      if (this.#blanks === 0) this.#gapStart = this.#offset + from
      this.#lineStart = this.#offset + start
      this.#blanks += start - from
    }
    const newline = chunk.indexOf(NEWLINE, start)
    const end = newline < 0 ? chunk.length : newline
    this.#lineBytes += end - start
    this.#headerBytes += end - start
    if (this.#lineBytes > headerBytes)
      throw new Rejection('header-too-large', `It is longer than ${headerBytes} bytes.`)
    if (this.#headerBytes > totalHeaderBytes)
      throw new Rejection('headers-too-large', `They are longer than ${totalHeaderBytes} bytes in total.`)
    const part = chunk.subarray(start, end)
    if (newline < 0) {
      if (part.length > 0) this.#line.push(part)
      return end
    }
    this.#endLine(this.#line.length > 0 ? Buffer.concat([...this.#line, part]) : part)
    return newline + 1
  }

  #endLine(bytes: Buffer): void {
    this.#line = []
    this.#lineBytes = 0
    this.#blanks = 0
    const { headerValues } = this.#limits
    this.#headerValues += maxValues(bytes)
    if (this.#headerValues > headerValues)
      throw new Rejection('header-too-complex', `The headers have more than ${headerValues} values in total.`)
    if (this.#state === 'header') this.#beginEnvelope(bytes)
    else this.#beginItem(bytes)
  }

  #beginEnvelope(bytes: Buffer): void {
    const line = parseHeaderLine(bytes)
    if (!line) throw new Rejection('not-an-envelope')
    checkComplexity(line, this.#limits)
    this.#header = readEnvelopeHeader(line)
    const trace = valueRange(line, 'trace')
    if (trace) this.#trace = { bytes: bytes.subarray(trace[0], trace[1]), start: this.#lineStart + trace[0] }
    this.#removeKeys(line, RELAY_ENVELOPE_KEYS)
    this.#removeSecret(line)
    this.#isHeaderEmpty = line.marks.length === 0
    this.#mayBeEvent = hasOtherKeys(line)
    this.#state = 'item'
    if (!this.#isHeaderEmpty && !this.#mayBeEvent) this.#reportHeader()
  }

  #reportHeader(): void {
    if (this.#header) this.#onHeader?.(this.#header)
    this.#onHeader = undefined
  }

  #beginItem(bytes: Buffer): void {
    this.#reportHeader()
    const items = this.#items
    const line = parseHeaderLine(bytes)
    if (!line)
      throw new Rejection(
        'item-header-invalid',
        `The header of item ${items.length + 1} is not a JSON object.`,
      )
    checkComplexity(line, this.#limits)
    const { type } = line.value
    if (typeof type !== 'string')
      throw new Rejection('item-header-invalid', `Item ${items.length + 1} has no type.`)
    if (type === 'integration') throw new Rejection('item-internal')
    if (items.length === this.#limits.items)
      throw new Rejection('too-many-items', `It has more than ${this.#limits.items}.`)
    this.#removeKeys(line, RELAY_ITEM_KEYS)
    const header = readItemHeader(line)
    this.#payload = this.#limits.keep(type) && this.#keptBytes < this.#maxKeptBytes ? [] : undefined
    const payload = this.#payload ?? NO_PAYLOAD
    this.#item = { type: INTERNED.get(type) ?? type, header, range: [this.#gapStart, 0], bytes: 0, payload }
    if (this.#payload) this.#keep(this.#payload, this.#item, line)
    items.push(this.#item)
    const length = readLength(line)
    this.#missing = length ?? 0
    this.#state = length === undefined ? 'unsized' : length === 0 ? 'terminator' : 'sized'
  }

  #keep(payload: Buffer[], item: Item, line: HeaderLine): void {
    this.#keptPayloads.push(payload)
    this.#keptBytes += KEPT_ITEM_BYTES
    item.layout = locateItem(line, this.#lineStart)
  }

  #removeKeys(line: HeaderLine, keys: ReadonlySet<string>): void {
    for (const [start, end] of cutMembers(line, keys))
      this.#removedRanges.push([this.#lineStart + start, this.#lineStart + end])
  }

  /** Replaces a DSN with a legacy secret (`key:secret@`), which no server has needed for years. */
  #removeSecret(line: HeaderLine): void {
    const { dsn } = line.value
    const range = valueRange(line, 'dsn')
    if (!range || typeof dsn !== 'string' || !hasSecret(dsn)) return
    const [start, end] = range
    const replacement = Buffer.from(JSON.stringify(withoutSecret(dsn)))
    this.#removedRanges.push([this.#lineStart + start, this.#lineStart + end, replacement])
  }

  #readSized(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#missing)
    this.#addPayload(chunk, at, end)
    this.#missing -= end - at
    if (this.#missing === 0) this.#state = 'terminator'
    return end
  }

  #readUnsized(chunk: Buffer, at: number): number {
    const newline = chunk.indexOf(NEWLINE, at)
    const end = newline < 0 ? chunk.length : newline
    this.#addPayload(chunk, at, end)
    if (newline < 0) return end
    this.#endItem(this.#offset + newline + 1)
    return newline + 1
  }

  #addPayload(chunk: Buffer, start: number, end: number): void {
    const item = this.#item
    if (!item) return
    item.bytes += end - start
    if (!this.#payload) return
    this.#payload.push(chunk.subarray(start, end))
    if (item.layout) item.layout.payload[1] += end - start
    this.#keptBytes += end - start
    if (this.#keptBytes <= this.#maxKeptBytes) return
    this.#payload.length = 0 // a part of a payload is of no use
    this.#payload = undefined
    this.#keptBytes -= item.bytes
  }

  #readTerminator(chunk: Buffer, at: number): number {
    if (chunk[at] !== NEWLINE)
      throw new Rejection(
        'item-malformed',
        `Item ${this.#items.length} is followed by something other than a newline.`,
      )
    this.#endItem(this.#offset + at + 1)
    return at + 1
  }

  #endItem(end: number): void {
    if (this.#item) this.#item.range[1] = end
    this.#state = 'item'
  }
}

function skipBlanks(chunk: Buffer, at: number): number {
  for (; at < chunk.length; at++) {
    const byte = chunk[at]
    if (byte !== 0x20 && byte !== NEWLINE && byte !== 0x0d && byte !== 0x09) break
  }
  return at
}
