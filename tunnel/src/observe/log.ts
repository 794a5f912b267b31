/** Log: JSON lines on standard output, without payloads, addresses or secrets. */

import { writeSync } from 'node:fs'
import { type DestinationStream, type Logger, pino } from 'pino'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

const BUFFER_BYTES = 64 * 1024 // as much as a pipe holds
const MAX_PENDING_BYTES = 4 * 1024 * 1024 // for a reader that has stalled; later lines are dropped
const FLUSH_MS = 200
const MESSAGES = { receipt: 'envelope', final_outcome: 'final outcome' }
const MAX_UTF8_BYTES = 3 // of one UTF-16 unit

/** Destination of whole lines. */
export type LogOutput = {
  write(lines: string): unknown
  flush(done: () => void): void
  flushSync(): void
}

const openStandardOutput = (): LogOutput =>
  pino.destination({ dest: 1, sync: false, minLength: 1, maxLength: MAX_PENDING_BYTES })

/** Gathers lines before it writes them: a line for each envelope would be many small writes. */
export class Log {
  readonly logger: Logger
  readonly #output: LogOutput
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES) // the library would measure all pending text again for each line
  readonly #timer = setInterval(() => this.#flushBuffer(), FLUSH_MS).unref()
  #used = 0

  /** `output` takes whole lines. */
  constructor(level: LogLevel, output: LogOutput = openStandardOutput()) {
    this.#output = output
    this.logger = createLogger(level, { write: (line) => this.#write(line) })
  }

  /** Writes a line at level `info` with `json` as the field `event`, as the logger would, without serializing it again. */
  recordEvent(event: 'receipt' | 'final_outcome', json: string): void {
    if (this.logger.isLevelEnabled('info'))
      this.#write(`{"level":"info","at":${Date.now()},"${event}":${json},"msg":"${MESSAGES[event]}"}\n`)
  }

  /** Resolves when all lines are written. */
  close(): Promise<void> {
    clearInterval(this.#timer)
    this.#flushBuffer()
    return new Promise((resolve) => this.#output.flush(() => resolve()))
  }

  /** Writes all lines before it returns, for a process that is about to exit. */
  closeSync(): void {
    this.#output.flushSync()
    try {
      writeSync(1, this.#buffer, 0, this.#used) // a thread of the output might be too late
    } catch {
      // the reader of standard output has ended
    }
    this.#used = 0
  }

  #write(line: string): void {
    const maxBytes = line.length * MAX_UTF8_BYTES
    if (maxBytes > BUFFER_BYTES - this.#used) this.#flushBuffer()
    if (maxBytes > BUFFER_BYTES) this.#output.write(line)
    else this.#used += this.#buffer.write(line, this.#used)
  }

  #flushBuffer(): void {
    if (this.#used === 0) return
    this.#output.write(this.#buffer.toString('utf8', 0, this.#used))
    this.#used = 0
  }
}

/** `at` is the time of the line: receipts have a `time` and a `replica` of their own. */
function createLogger(level: LogLevel, destination: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"at":${Date.now()}`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
}
