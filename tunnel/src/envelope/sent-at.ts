/** Times in `sent_at`, and changes of the header of envelopes that were spooled. */

import { createRangeRemover, mergeRanges, type Range } from './body/ranges.ts'
import { parseHeaderLine, valueRange } from './header-parser.ts'

// Relay reads times with chrono's `FromStr`: RFC 3339 with blanks, short numbers, years with a sign, UTC, and offsets without a colon.
const RELAXED_RFC_3339 =
  /^\s*(\d{1,4}|[+-]\d{1,6})\s*-\s*(\d\d?)\s*-\s*(\d\d?)[Tt ]\s*(\d\d?)\s*:\s*(\d\d?)\s*:\s*(\d\d?)(\.\d+)?\s*(?:Z|UTC|([+\u2212-])(\d\d)[\s:]*([0-5]\d))\s*$/i

/** Times as SDKs write them. `Date.parse` reads exactly these as Relay does, and four times as fast as the pattern above. */
const USUAL_TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/** Parses a time as Relay does. Returns milliseconds since 1970; `undefined` for another text, and for a date such as 30 February. */
export function parseTime(text: string): number | undefined {
  if (USUAL_TIME.test(text)) return Date.parse(text)
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHours = 0, offsetMinutes = 0] =
    RELAXED_RFC_3339.exec(text) ?? []
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60 || Number(offsetHours) > 23)
    return undefined
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '+' ? 60 : -60)
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second) - offset
  return date.getTime() + seconds * 1000 + Math.floor(Number(fraction ?? 0) * 1000)
}

/**
 * Advances `sent_at` by the time in the spool, since Sentry corrects a browser's clock by comparing it with the time of arrival. With `dsn`,
 * also replaces the DSN, which must be that of the request. Returns the chunks of the new envelope; all other bytes are unmodified.
 */
export function moveSentAt(envelope: Buffer, waitedMs: number, dsn?: string): Buffer[] {
  const newline = envelope.indexOf(0x0a)
  const line = parseHeaderLine(newline < 0 ? envelope : envelope.subarray(0, newline))
  if (!line) return [envelope]
  const edits: Range[] = []
  const replace = (name: string, value: string | undefined) => {
    const range = valueRange(line, name)
    if (!range || value === undefined || typeof line.value[name] !== 'string') return
    edits.push([range[0], range[1], Buffer.from(JSON.stringify(value))])
  }
  replace('sent_at', advance(line.value.sent_at, waitedMs))
  replace('dsn', dsn)
  return createRangeRemover(mergeRanges(edits))(envelope)
}

/** Returns `undefined` for a value that is no time. */
function advance(sentAt: unknown, ms: number): string | undefined {
  const time = typeof sentAt === 'string' ? parseTime(sentAt) : undefined
  const moved = new Date(time === undefined ? Number.NaN : time + ms)
  return Number.isNaN(moved.getTime()) ? undefined : moved.toISOString()
}
