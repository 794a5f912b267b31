/** An event, a transaction or feedback as a person reads it. Every part of it may be missing or of any kind: what is not as expected is left out. */

import { z } from 'zod'
import { formatCount, formatQuantity } from '../../../lib/format.ts'
import { firstEntries, formatJsonLine } from '../../../lib/format-json.ts'
import { ROWS, TEXT } from '../bounds.ts'

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String)
export const words = text.optional().catch(undefined)
export const number = z.number().optional().catch(undefined)
export const time = z
  .union([z.number(), z.string()])
  .transform((given) => (typeof given === 'number' ? given * 1000 : Date.parse(given)))
  .pipe(z.number().finite().min(0).max(8.64e15))
  .optional()
  .catch(undefined)
/** No `z.record`, which copies: a stranger's may have a hundred thousand members. */
const record = z
  .custom<Record<string, unknown>>(
    (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
  )
  .optional()
  .catch(undefined)

/** More of anything is in no report that a person reads: an envelope has room for a million of them. */
const MOST_READ = 1_000

/** The last `most` of a list, without the members that are not as expected. */
export function listOf<T extends z.ZodType>(member: T, most: number = MOST_READ) {
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

/** `{ values: [...] }`, or the list itself. */
function valuesOf<T extends z.ZodType>(member: T, most: number) {
  return z.preprocess(valuesIn, listOf(member, most)).catch([])
}

function valuesIn(given: unknown): unknown {
  return typeof given === 'object' && given !== null && !Array.isArray(given) && 'values' in given // a list has a method of that name
    ? given.values
    : given
}

/** Returns how many members a list has that is read in part, and 0 for what is no list. */
export function sizeOf(given: unknown): number {
  const values = valuesIn(given)
  return Array.isArray(values) ? values.length : 0
}

const frame = z.object({
  filename: words,
  abs_path: words,
  function: words,
  lineno: number,
  colno: number,
  in_app: z.boolean().optional().catch(undefined),
  context_line: words,
  pre_context: listOf(text, ROWS.contextLines),
  post_context: listOf(text), // those that are shown are the first
})

function withFrameCount(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('frames' in given)) return given
  return { frames: given.frames, frameCount: sizeOf(given.frames) }
}

const exception = z.object({
  type: words,
  value: words,
  mechanism: z
    .object({ type: words, handled: z.boolean().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  stacktrace: z
    .preprocess(withFrameCount, z.object({ frames: listOf(frame, ROWS.frames), frameCount: number }))
    .optional()
    .catch(undefined),
})

const breadcrumb = z.object({
  timestamp: time,
  category: words,
  type: words,
  level: words,
  message: words,
  data: record,
})

const span = z.object({
  span_id: words,
  parent_span_id: words,
  op: words,
  description: words,
  status: words,
  start_timestamp: time,
  timestamp: time,
})

const tags = z
  .union([
    z
      .custom<Record<string, unknown>>(
        (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
      )
      .transform((given) =>
        firstEntries(given, MOST_READ).map(([key, value]): [string, string] => [key, formatValue(value)]),
      ),
    listOf(z.tuple([text, text])),
  ])
  .catch([])
  .default([])

const event = z.object({
  event_id: words,
  type: words,
  level: words,
  timestamp: time,
  start_timestamp: time,
  platform: words,
  logger: words,
  transaction: words,
  environment: words,
  release: words,
  message: z
    .union([
      text,
      z.object({ formatted: words, message: words }).transform((given) => given.formatted ?? given.message),
    ])
    .optional()
    .catch(undefined),
  logentry: z.object({ formatted: words, message: words }).optional().catch(undefined),
  exception: valuesOf(exception, ROWS.exceptions),
  breadcrumbs: valuesOf(breadcrumb, MOST_READ),
  tags,
  user: record,
  request: z.object({ url: words, method: words, headers: record }).optional().catch(undefined),
  contexts: record,
  spans: listOf(span),
  sdk: z.object({ name: words, version: words }).optional().catch(undefined),
  extra: record,
})

export type SentryEvent = z.output<typeof event>
export type Exception = z.output<typeof exception>
export type Frame = z.output<typeof frame>
export type Breadcrumb = z.output<typeof breadcrumb>
export type Span = z.output<typeof span>

/** `undefined` for what is no object at all. */
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
  message: words,
  name: words,
  contact_email: words,
  url: words,
})

/** What a visitor wrote, which stands in a context of its own. */
export function feedbackOf({ contexts }: SentryEvent): Feedback | undefined {
  const read = feedback.safeParse(contexts?.feedback)
  if (!read.success) return undefined
  const { message, name, contact_email: email, url } = read.data
  return { message, name, email, url }
}

const trace = z.object({ span_id: words, op: words, status: words })

/** The span that an event itself is, or was met in. */
export function traceOf(contexts: SentryEvent['contexts']): z.output<typeof trace> {
  const read = trace.safeParse(contexts?.trace)
  return read.success ? read.data : { span_id: undefined, op: undefined, status: undefined }
}

/** Type and message in one line. */
export function titleOf(read: SentryEvent): string {
  const last = read.exception.at(-1)
  if (last) return [last.type, last.value].filter(Boolean).join(': ') || 'an exception without a name'
  const written = feedbackOf(read)?.message
  if (written) return written
  return (
    read.logentry?.formatted ??
    read.logentry?.message ??
    read.message ??
    read.transaction ??
    read.event_id ??
    'an event'
  )
}

export function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : formatJsonLine(value, TEXT.line)
}

/** How many were read of a list, and that there may be more. */
export function formatReadCount(list: readonly unknown[], one: string): string {
  return list.length < MOST_READ
    ? formatQuantity(list.length, one)
    : `${formatCount(list.length)} or more ${one}s`
}
