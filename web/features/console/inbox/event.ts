/** Events, transactions, feedback, spans, logs and metrics from untrusted JSON: the parts that the inbox shows, without invalid ones. */

import { z } from 'zod'
import { firstEntries, formatJsonLine } from '../../../lib/format-json.ts'
import { ROWS, TEXT } from '../bounds.ts'

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String)
export const optionalText = text.optional().catch(undefined)
export const number = z.number().optional().catch(undefined)
const time = z
  .union([z.number(), z.string()])
  .transform((given) => (typeof given === 'number' ? given * 1000 : Date.parse(given)))
  .pipe(z.number().finite().min(0).max(8.64e15))
  .optional()
  .catch(undefined)
/** `z.record` would copy the record, which may have a hundred thousand members. */
const record = z.custom<Record<string, unknown>>(isRecord)
const optionalRecord = record.optional().catch(undefined)

/** Bound of any list: an envelope has room for a million members. */
const MAX_READ = 1_000

/** Reads the last `most` members of a list, without invalid ones. */
function listOf<T extends z.ZodType>(member: T, most: number = MAX_READ) {
  return z
    .custom<unknown[]>(Array.isArray)
    .transform((values) =>
      values.slice(-most).flatMap((value): z.output<T>[] => {
        const read = member.safeParse(value)
        return read.success ? [read.data] : []
      }),
    )
    .catch([])
    .default([])
}

/** Reads `{ values: [...] }` or a list. */
function valuesOf<T extends z.ZodType>(member: T, most: number) {
  return z.preprocess(valuesIn, listOf(member, most)).catch([])
}

function valuesIn(given: unknown): unknown {
  return isRecord(given) && 'values' in given ? given.values : given // lists have a method of this name
}

function isRecord(given: unknown): given is Record<string, unknown> {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

/** Returns the length of a list before it is cut; 0 for anything else. */
export function sizeOf(given: unknown): number {
  const values = valuesIn(given)
  return Array.isArray(values) ? values.length : 0
}

const frame = z.object({
  filename: optionalText,
  abs_path: optionalText,
  function: optionalText,
  lineno: number,
  colno: number,
  in_app: z.boolean().optional().catch(undefined),
  context_line: optionalText,
  pre_context: listOf(text, ROWS.contextLines),
  post_context: listOf(text), // the first ones are shown
  vars: optionalRecord,
})

function withFrameCount(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('frames' in given)) return given
  return { frames: given.frames, frameCount: sizeOf(given.frames) }
}

const exception = z.object({
  type: optionalText,
  value: optionalText,
  mechanism: z
    .object({ type: optionalText, handled: z.boolean().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  stacktrace: z
    .preprocess(withFrameCount, z.object({ frames: listOf(frame, ROWS.frames), frameCount: number }))
    .optional()
    .catch(undefined),
})

const breadcrumb = z.object({
  timestamp: time,
  category: optionalText,
  level: optionalText,
  message: optionalText,
  data: optionalRecord,
})

const span = z.object({
  span_id: optionalText,
  parent_span_id: optionalText,
  op: optionalText,
  description: optionalText,
  status: optionalText,
  start_timestamp: time,
  timestamp: time,
})

const tags = z
  .union([
    record.transform((given) =>
      firstEntries(given, MAX_READ).map(([key, value]): [string, string] => [key, formatValue(value)]),
    ),
    listOf(z.tuple([text, text])),
  ])
  .catch([])
  .default([])

/** Debug IDs of scripts, by which bundlers name the map (tc39.es/ecma426, debugId). */
const debugMeta = z
  .object({ images: listOf(z.object({ code_file: optionalText, debug_id: optionalText })) })
  .catch({ images: [] })
  .default({ images: [] })

const event = z.object({
  event_id: optionalText,
  level: optionalText,
  timestamp: time,
  start_timestamp: time,
  platform: optionalText,
  transaction: optionalText,
  environment: optionalText,
  release: optionalText,
  message: z
    .union([
      text,
      z
        .object({ formatted: optionalText, message: optionalText })
        .transform((given) => given.formatted ?? given.message),
    ])
    .optional()
    .catch(undefined),
  logentry: z.object({ formatted: optionalText, message: optionalText }).optional().catch(undefined),
  exception: valuesOf(exception, ROWS.exceptions),
  breadcrumbs: valuesOf(breadcrumb, MAX_READ),
  tags,
  user: optionalRecord,
  request: z.object({ url: optionalText }).optional().catch(undefined),
  contexts: optionalRecord,
  spans: listOf(span),
  sdk: z.object({ name: optionalText, version: optionalText }).optional().catch(undefined),
  debug_meta: debugMeta,
})

export type SentryEvent = z.output<typeof event>
export type Exception = z.output<typeof exception>
export type Frame = z.output<typeof frame>
export type Breadcrumb = z.output<typeof breadcrumb>
export type Span = z.output<typeof span>

/** Returns `undefined` for anything but an object. */
export function readEvent(value: unknown): SentryEvent | undefined {
  const read = event.safeParse(value)
  return read.success ? read.data : undefined
}

export type Feedback = {
  message: string | undefined
  name: string | undefined
  email: string | undefined
  url: string | undefined
}

const feedback = z.object({
  message: optionalText,
  name: optionalText,
  contact_email: optionalText,
  url: optionalText,
})

/** Returns the feedback, which has a context of its own. */
export function feedbackOf({ contexts }: SentryEvent): Feedback | undefined {
  const read = feedback.safeParse(contexts?.feedback)
  if (!read.success) return undefined
  const { message, name, contact_email: email, url } = read.data
  return { message, name, email, url }
}

const trace = z.object({ span_id: optionalText, op: optionalText, status: optionalText })

/** Returns the span of the event, or the one in which it occurred. */
export function traceOf(contexts: SentryEvent['contexts']): z.output<typeof trace> {
  const read = trace.safeParse(contexts?.trace)
  return read.success ? read.data : { span_id: undefined, op: undefined, status: undefined }
}

export function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : formatJsonLine(value, TEXT.line)
}

const attribute = z.object({ value: z.unknown() })
const attributes = z.record(z.string(), attribute.catch({ value: undefined })).catch({})

const streamedSpan = z.object({
  name: optionalText,
  span_id: optionalText,
  parent_span_id: optionalText,
  start_timestamp: time,
  end_timestamp: time,
  is_segment: z.boolean().optional().catch(undefined),
  status: optionalText,
  attributes,
})

const log = z.object({ timestamp: time, level: optionalText, body: optionalText })
const metric = z.object({
  timestamp: time,
  name: optionalText,
  type: optionalText,
  value: number,
  unit: optionalText,
})

const batchOf = <T extends z.ZodType>(member: T) => z.object({ items: listOf(member) }).catch({ items: [] })

export type LogLine = z.output<typeof log>
export type Metric = z.output<typeof metric>

/** Reads streamed spans, with or without their segment. */
export function readSpans(value: unknown): (Span & { isSegment: boolean })[] {
  return batchOf(streamedSpan)
    .parse(value)
    .items.map(({ name, end_timestamp: timestamp, attributes: given, is_segment: isSegment, ...own }) => ({
      ...own,
      timestamp,
      op: optionalText.parse(given['sentry.op']?.value),
      description: name,
      isSegment: isSegment === true,
    }))
}

export function readLogs(value: unknown): LogLine[] {
  return batchOf(log).parse(value).items
}

export function readMetrics(value: unknown): Metric[] {
  return batchOf(metric).parse(value).items
}
