/** The log: JSON lines on standard output, without payloads, addresses or secrets. */

import { writeSync } from 'node:fs'
import { type DestinationStream, type Logger, pino } from 'pino'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** A line per envelope is many small writes: they are gathered for a moment. */
const GATHER_BYTES = 64 * 1024 // as much as a pipe holds
const MOST_BYTES = 4 * 1024 * 1024 // kept for a reader that has stalled; lines beyond are dropped
const FLUSH_MS = 200
const MESSAGES = { receipt: 'envelope', final_outcome: 'final outcome' }
const MOST_UTF8_BYTES = 3 // of one of a string's characters

export type Log = {
  logger: Logger
  /** Writes a line at level info about an envelope: what is told of it stands under `name`, as the JSON that it is. */
  tell(name: 'receipt' | 'final_outcome', json: string): void
  /** Writes out what has been gathered. */
  close(): Promise<void>
  /** The same before it returns, for a process that is about to end. */
  writeOut(): void
}

export function createLog(level: LogLevel): Log {
  const output = pino.destination({ dest: 1, sync: false, minLength: 1, maxLength: MOST_BYTES })
  // Gathered here: for each line it is given, the library measures again all that waits. As bytes: a text that is added to keeps all
  // its pieces for the garbage collector to walk over.
  const gathered = Buffer.allocUnsafe(GATHER_BYTES)
  let used = 0
  const timer = setInterval(handOver, FLUSH_MS).unref()
  const logger = createLogger(level, { write })
  return { logger, tell, close, writeOut }

  /** As the logger itself would write it; the text is there already, and needs not be made once more. */
  function tell(name: 'receipt' | 'final_outcome', json: string): void {
    if (logger.isLevelEnabled('info'))
      write(`{"level":"info","at":${Date.now()},"${name}":${json},"msg":"${MESSAGES[name]}"}\n`)
  }

  function write(line: string): void {
    if (line.length * MOST_UTF8_BYTES > gathered.length - used) handOver()
    if (line.length * MOST_UTF8_BYTES > gathered.length) output.write(line)
    else used += gathered.write(line, used)
  }

  function handOver(): void {
    if (used === 0) return
    output.write(gathered.toString('utf8', 0, used))
    used = 0
  }

  function close(): Promise<void> {
    clearInterval(timer)
    handOver()
    return new Promise((resolve) => output.flush(() => resolve()))
  }

  function writeOut(): void {
    output.flushSync()
    try {
      writeSync(1, gathered, 0, used) // handed to the output it would be written by a thread, which may come too late
    } catch {
      // nobody reads it any more
    }
    used = 0
  }
}

function createLogger(level: LogLevel, destination: DestinationStream): Logger {
  return pino(
    // A receipt has a `time` and a `replica` of its own: ours are when the line was written, and told once at the start.
    {
      level,
      base: null,
      timestamp: () => `,"at":${Date.now()}`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
}
