/** Items that hold many of their kind: spans, log lines and metrics. What is not as expected is left out. */

import { z } from 'zod'
import { listOf, number, type Span, time, words } from './event.ts'

const attribute = z.object({ value: z.unknown() })
const attributes = z.record(z.string(), attribute.catch({ value: undefined })).catch({})

const span = z.object({
  name: words,
  span_id: words,
  parent_span_id: words,
  start_timestamp: time,
  end_timestamp: time,
  is_segment: z.boolean().optional().catch(undefined),
  status: words,
  attributes,
})

const log = z.object({ timestamp: time, level: words, body: words })
const metric = z.object({ timestamp: time, name: words, type: words, value: number, unit: words })

const batchOf = <T extends z.ZodType>(member: T) => z.object({ items: listOf(member) }).catch({ items: [] })

export type LogLine = z.output<typeof log>
export type Metric = z.output<typeof metric>

/** Of a page load or a request, as streaming SDKs send them: in parts, with or without the one that holds the others. */
export function readSpans(value: unknown): (Span & { isSegment: boolean })[] {
  return batchOf(span)
    .parse(value)
    .items.map(({ name, end_timestamp: timestamp, attributes: told, is_segment: isSegment, ...own }) => ({
      ...own,
      timestamp,
      op: words.parse(told['sentry.op']?.value),
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
