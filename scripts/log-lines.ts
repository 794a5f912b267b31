/** What the processes log, as a person wants to read it: one line per envelope, and whatever went wrong. */

import type { Receipt } from '../tunnel/src/contract.ts'
import type { Stream } from './child-process.ts'

type Entry = { level?: string; msg?: string; receipt?: Receipt }

/** The line to show, or `undefined` for what is not worth a look. `part` is the process that said it. */
export function tellLine(part: string, line: string, stream: Stream): string | undefined {
  const entry = parseEntry(line)
  if (entry?.receipt) return `${part}  ${tellReceipt(entry.receipt)}`
  const trouble = entry
    ? /^(warn|error|fatal)$/.test(entry.level ?? '')
    : stream === 'stderr' && line.trim() !== ''
  return trouble ? `${part}  ${line}` : undefined
}

function parseEntry(line: string): Entry | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** `delivered  event, attachment  2.1 KB in 34 ms`; what did not go through is told with its reason. */
function tellReceipt({ outcome, reason, status, items, bytes, duration_ms: durationMs }: Receipt): string {
  const types = items.map(({ type }) => type).join(', ') || 'no items'
  const why = reason ? ` (${reason}, ${status})` : ''
  return `${outcome}${why}  ${types}  ${(bytes / 1000).toFixed(1)} KB in ${Math.round(durationMs)} ms`
}
