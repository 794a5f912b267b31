/** Correction of `sent_at` in envelopes that were spooled. */

import { parseHeaderLine, valueRange } from './header-parser.ts'

/**
 * Advances `sent_at` by the time in the spool, since Sentry corrects a browser's clock by comparing it with the time of arrival. Returns
 * the chunks of the new envelope; all other bytes are unmodified.
 */
export function moveSentAt(envelope: Buffer, waitedMs: number): Buffer[] {
  const newline = envelope.indexOf(0x0a)
  const line = parseHeaderLine(newline < 0 ? envelope : envelope.subarray(0, newline))
  const range = line && valueRange(line, 'sent_at')
  const sentAt = line?.value.sent_at
  if (!range || typeof sentAt !== 'string') return [envelope]
  const moved = new Date(Date.parse(sentAt) + waitedMs)
  if (Number.isNaN(moved.getTime())) return [envelope]
  const [start, end] = range
  return [
    envelope.subarray(0, start),
    Buffer.from(JSON.stringify(moved.toISOString())),
    envelope.subarray(end),
  ]
}
