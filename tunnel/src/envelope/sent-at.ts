/** The time an envelope says it was sent, moved by how long it has waited here. */

import { parseHeaderLine, valueRange } from './header-parser.ts'

/**
 * Sentry sets a browser's clock right by comparing `sent_at` with the time of arrival. What is delivered late gets `sent_at` moved by
 * the time it waited, so that this stays right; no other byte is touched. Gives the pieces of the new envelope.
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
