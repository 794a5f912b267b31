/** Batches: spans, log lines and metrics. Invalid members are left out. */

import { z } from 'zod'
import { listOf, number, optionalText, type Span, time } from './event.ts'

const attribute = z.object({ value: z.unknown() })
const attributes = z.record(z.string(), attribute.catch({ value: undefined })).catch({})

const span = z.object({
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
  return batchOf(span)
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
