/** View model of a stored envelope, bounded by `bounds.ts`. It names omitted parts. */

import { formatBytes } from '../../../lib/format.ts'
import { formatJson } from '../../../lib/format-json.ts'
import { Budget, type Listed, PAGE_CHARACTERS, READ_BYTES, ROWS, TEXT } from '../bounds.ts'
import { type CspReport, cutCspReport, readCspReport } from './csp-report.ts'
import { imageType, type ParsedEnvelope, type ParsedItem, parseEnvelope, parseJson } from './envelope.ts'
import {
  type LogLine,
  type Metric,
  readEvent,
  readLogs,
  readMetrics,
  readSpans,
  type Span,
  sizeOf,
} from './event.ts'
import { type EventModel, modelEvent, shownSpans } from './event-model.ts'
import { replayIdIn } from './replay/replay.ts'
import type { SourceFolders } from './source-folders.ts'
import { titleOf } from './title.ts'

export type ShownItem = {
  number: number
  type: string
  header: string
  filename: string | undefined
  bytes: number
  isImage: boolean
  /** Absent for binary data. */
  text: string | undefined
  /** States how much of the text is shown; absent for all of it. */
  part: string | undefined
}

export type EnvelopeModel = {
  title: string
  /** ID of the replay that it is a segment of, or during which its error was raised. */
  replay: string | undefined
  /** Size of the envelope, and of its beginning that was read. */
  bytes: number
  bytesRead: number
  /** Outermost first. */
  events: EventModel[]
  /** Reason why no frame is shown in its source. */
  mapProblem?: string
  violations: CspReport[]
  spans: Listed<Span>
  logs: Listed<LogLine>
  metrics: Listed<Metric>
  attachments: Listed<ShownItem>
  header: string
  /** Items of one page. */
  items: Listed<ShownItem>
  /** Readable items that are too large. */
  unread: { type: string; bytes: number }[]
  /** Set when something is left out; raw items state that themselves. */
  isShort: boolean
}

const EVENTS = ['event', 'transaction', 'feedback']
const BATCHES = ['span', 'log', 'trace_metric']
const VIOLATION = 'raw_security'
const READABLE = [...EVENTS, ...BATCHES, VIOLATION]
/** Types that are parsed for the title only. */
const NAMING = ['replay_event', 'session']

/** Shows frames of minified scripts in their source. */
type FrameMapper = Pick<SourceFolders, 'mapFrames'>

/** Models the beginning of an envelope of `bytes`. `from` is the offset of the raw items. */
export async function modelEnvelope(
  stream: AsyncIterable<Uint8Array>,
  bytes: number,
  from: number,
  maps?: FrameMapper,
): Promise<EnvelopeModel> {
  let left = READ_BYTES.parsed
  let openSince: number | undefined
  let attachments = 0
  let readable = 0
  const unread: EnvelopeModel['unread'] = []
  const envelope = await parseEnvelope(stream, ({ number, type, length }, held) => {
    if (openSince !== undefined) left -= held - openSince
    openSince = undefined
    const shown = number >= from && number < from + ROWS.items ? READ_BYTES.raw : undefined
    if (type === 'attachment' && attachments++ < ROWS.attachments) return shown ?? 16 // bytes that identify an image
    if (![...READABLE, ...NAMING].includes(type) || readable++ >= ROWS.readable) return shown
    if (length === undefined && left > 0) {
      openSince = held // its length is known after it is read
      return Math.max(left, shown ?? 0)
    }
    if (length === undefined || length > left) {
      if (length !== undefined && READABLE.includes(type)) unread.push({ type, bytes: length })
      return shown
    }
    left -= length
    return Math.max(length, shown ?? 0)
  })
  for (const { type, payload, bytes: size } of envelope.items)
    if (READABLE.includes(type) && payload.length < size && !unread.some(({ bytes }) => bytes === size))
      unread.push({ type, bytes: size })
  return modelParsed(envelope, bytes, from, { unread: unread.slice(0, ROWS.events), attachments, maps })
}

type Further = Pick<EnvelopeModel, 'unread'> & { attachments: number; maps: FrameMapper | undefined }

async function modelParsed(
  envelope: ParsedEnvelope,
  bytes: number,
  from: number,
  { unread, attachments, maps }: Further,
): Promise<EnvelopeModel> {
  const budget = new Budget(PAGE_CHARACTERS.readable)
  const raw = new Budget(PAGE_CHARACTERS.raw)
  const { items, itemCount, bytes: bytesRead } = envelope
  const jsonOf = createParser()
  const title = titleOf(items, jsonOf)
  const replay = items
    .filter(({ type }) => [...EVENTS, ...NAMING].includes(type))
    .map((item) => replayIdIn(jsonOf(item)))
    .find((id) => id !== undefined)
  const events: EventModel[] = []
  let mapProblem: string | undefined
  for (const item of items.filter(({ type }) => EVENTS.includes(type)).slice(0, ROWS.events)) {
    const json = jsonOf(item)
    const event = readEvent(json)
    if (!event) continue
    const mapped = await maps?.mapFrames(event).catch((error) => {
      mapProblem = `Frames are not shown in their source: SOURCE_MAPS cannot be read (${error.code ?? error.message}).`
    })
    events.push(modelEvent(json, mapped ?? event, budget))
  }
  const violations = items
    .filter(({ type }) => type === VIOLATION)
    .slice(0, ROWS.events)
    .flatMap((item) => readCspReport(jsonOf(item)) ?? [])
    .map((report) => cutCspReport(report, budget))
  const header = raw.text(formatJson(envelope.header, TEXT.json), TEXT.json)
  const onPage = items.filter(({ number }) => number >= from && number < from + ROWS.items)
  const model = {
    ...{ title, replay, bytes, bytesRead, events, violations, header, unread },
    ...(mapProblem !== undefined && { mapProblem }),
    spans: batchOf(items, 'span', jsonOf, readSpans, (spans, total) => shownSpans(spans, total, budget)),
    logs: batchOf(items, 'log', jsonOf, readLogs, (lines, total) =>
      budget.rows(lines, ROWS.batch, (line) => logLineIn(line, budget), total),
    ),
    metrics: batchOf(items, 'trace_metric', jsonOf, readMetrics, (metrics, total) =>
      budget.rows(metrics, ROWS.batch, (metric) => metricIn(metric, budget), total),
    ),
    attachments: budget.rows(
      items.filter(({ type }) => type === 'attachment'),
      ROWS.attachments,
      (item) => ({ ...itemIn(item, budget), text: undefined, part: undefined }),
      attachments,
    ),
    items: { shown: onPage.map((item) => rawItemIn(item, raw)), total: itemCount },
  }
  const isShort = budget.isShort || unread.length > 0 || bytesRead < bytes
  return { ...model, isShort }
}

/** Parses each item once, since parsed JSON takes up to 20 times its size. Incomplete items are `undefined`. */
function createParser(): (item: ParsedItem) => unknown {
  const parsed = new Map<ParsedItem, unknown>()
  return function jsonOf(item) {
    if (item.payload.length !== item.bytes) return undefined
    if (!parsed.has(item)) parsed.set(item, parseJson(item.payload.toString('utf8')))
    return parsed.get(item)
  }
}

function batchOf<T, U>(
  items: readonly ParsedItem[],
  type: string,
  jsonOf: (item: ParsedItem) => unknown,
  read: (json: unknown) => T[],
  show: (all: T[], total: number) => Listed<U>,
): Listed<U> {
  let total = 0
  const all: T[] = []
  for (const item of items.filter((each) => each.type === type)) {
    const json = jsonOf(item)
    const values = read(json)
    total += Math.max(values.length, sizeOf(Object(json).items))
    if (all.length < ROWS.batch) all.push(...values)
  }
  return show(all, total)
}

function logLineIn({ timestamp, level, body }: LogLine, budget: Budget): LogLine {
  return {
    ...{ timestamp, level: budget.optional(level, TEXT.name) },
    body: budget.optional(body, TEXT.line),
  }
}

function metricIn({ timestamp, name, type, value, unit }: Metric, budget: Budget): Metric {
  return {
    ...{ timestamp, value, name: budget.optional(name, TEXT.name) },
    ...{ type: budget.optional(type, TEXT.name), unit: budget.optional(unit, TEXT.name) },
  }
}

function itemIn({ number, type, filename, header, payload, bytes }: ParsedItem, budget: Budget) {
  return {
    ...{ number, bytes, isImage: imageType(payload) !== undefined, header },
    ...{ type: budget.text(type, TEXT.name), filename: budget.optional(filename, TEXT.name) },
  }
}

function rawItemIn(item: ParsedItem, budget: Budget): ShownItem {
  const shown = itemIn(item, budget)
  const { payload, bytes } = item
  const whole = textOf(payload.subarray(0, READ_BYTES.raw))
  const json = bytes <= READ_BYTES.raw && whole !== undefined ? parseJson(whole) : undefined
  const said = json === undefined ? whole : formatJson(json, TEXT.raw)
  const header = budget.text(item.header, TEXT.line)
  if (said === undefined) return { ...shown, header, text: undefined, part: undefined }
  const text = budget.text(said, TEXT.raw)
  const isWhole = bytes <= READ_BYTES.raw && text === said
  return { ...shown, header, text, part: isWhole ? undefined : partOf(text, bytes) }
}

function partOf(text: string, bytes: number): string {
  return text.length <= 1
    ? 'Not shown, to keep this page small.'
    : `The first ${formatBytes(Buffer.byteLength(text))} of ${formatBytes(bytes)}.`
}

/** Decodes UTF-8, without a character that is cut at the end; `undefined` for anything else. */
function textOf(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return undefined
  }
}
