/** Changes of the header of envelopes that were spooled. */

import { parseHeaderLine, valueRange } from './header-parser.ts'

/** New text of a value, and its place in the header line. */
type Edit = { start: number; end: number; text: string }

/**
 * Advances `sent_at` by the time in the spool, since Sentry corrects a browser's clock by comparing it with the time of arrival. With `dsn`,
 * also replaces the DSN, which must be that of the request. Returns the chunks of the new envelope; all other bytes are unmodified.
 */
export function moveSentAt(envelope: Buffer, waitedMs: number, dsn?: string): Buffer[] {
  const newline = envelope.indexOf(0x0a)
  const line = parseHeaderLine(newline < 0 ? envelope : envelope.subarray(0, newline))
  if (!line) return [envelope]
  const edits: Edit[] = []
  const replace = (name: string, value: string | undefined) => {
    const range = valueRange(line, name)
    if (!range || value === undefined || typeof line.value[name] !== 'string') return
    edits.push({ start: range[0], end: range[1], text: JSON.stringify(value) })
  }
  replace('sent_at', advance(line.value.sent_at, waitedMs))
  replace('dsn', dsn)
  return apply(envelope, edits)
}

/** Returns `undefined` for a value that is no time. */
function advance(sentAt: unknown, ms: number): string | undefined {
  const moved = new Date(typeof sentAt === 'string' ? Date.parse(sentAt) + ms : Number.NaN)
  return Number.isNaN(moved.getTime()) ? undefined : moved.toISOString()
}

function apply(envelope: Buffer, edits: readonly Edit[]): Buffer[] {
  const chunks: Buffer[] = []
  let at = 0
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
    chunks.push(envelope.subarray(at, start), Buffer.from(text))
    at = end
  }
  return [...chunks, envelope.subarray(at)]
}
