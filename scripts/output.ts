/** Prints the output of `npm start`: its own sentences at once, and log lines of the services once the site is up. */

import type { Receipt } from 'contract/admin-api'

export type Stream = 'stdout' | 'stderr'

/** Output of one run of the site, and the signals between it and its caller. */
export type Session = {
  output: Output
  /** Aborts when the site is to be stopped. */
  stopped: AbortSignal
  /** Called once, when the site is healthy. */
  onUp: () => void
}

type LogEntry = { level?: string; code?: string; msg?: string; receipt?: Receipt }

const APP_AWAY_EVERY_MS = 60_000

/** Output of one run. It holds log lines back until `release`; with `verbose` it prints every line at once. */
export class Output {
  readonly #isVerbose: boolean
  readonly #write: (line: string) => void
  readonly #now: () => number
  #held: string[] | undefined
  #appAwayAt = -APP_AWAY_EVERY_MS

  constructor(detail: 'summary' | 'verbose', write: (line: string) => void, now = () => performance.now()) {
    this.#isVerbose = detail === 'verbose'
    this.#held = this.#isVerbose ? undefined : []
    this.#write = write
    this.#now = now
  }

  print(sentence: string): void {
    this.#write(sentence)
  }

  /** Takes a line that a service wrote. */
  log(service: string, line: string, stream: Stream): void {
    if (parseEntry(line)?.code === 'app-away' && this.#isAppAwayRecent()) return
    const text = this.#isVerbose ? `${service}  ${line}` : summarizeLine(service, line, stream)
    if (text === undefined) return
    if (this.#held) this.#held.push(text)
    else this.#write(text)
  }

  /** Reports whether nginx has said within a minute that the app does not respond: it says so for each request. */
  #isAppAwayRecent(): boolean {
    const now = this.#now()
    if (now - this.#appAwayAt < APP_AWAY_EVERY_MS) return true
    this.#appAwayAt = now
    return false
  }

  /** Prints the lines held back, and from now on each line at once. */
  release(): void {
    for (const line of this.#held ?? []) this.#write(line)
    this.#held = undefined
  }
}

/** Returns the line to print: one for each envelope, warning and error; `undefined` for others. */
export function summarizeLine(service: string, line: string, stream: Stream): string | undefined {
  const entry = parseEntry(line)
  if (entry?.code === 'app-away') return entry.msg
  if (entry?.receipt) return `${service}  ${summarizeReceipt(entry.receipt)}`
  const isTrouble = entry
    ? /^(warn|error|fatal)$/.test(entry.level ?? '')
    : stream === 'stderr' && line.trim() !== ''
  return isTrouble ? `${service}  ${line}` : undefined
}

function parseEntry(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Returns text like `delivered  event, attachment  2.1 KB in 34 ms`, with the reason where there is one. */
function summarizeReceipt(receipt: Receipt): string {
  const { outcome, reason, status, items, bytes, duration_ms: durationMs } = receipt
  const types = items.map(({ type }) => type).join(', ') || 'no items'
  const reasonText = reason ? ` (${reason}, ${status})` : ''
  return `${outcome}${reasonText}  ${types}  ${(bytes / 1000).toFixed(1)} KB in ${Math.round(durationMs)} ms`
}
