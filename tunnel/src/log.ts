/** The log: JSON lines on standard output, without payloads, addresses or secrets. */

import { type DestinationStream, type Logger, pino } from 'pino'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** A line per envelope is many small writes: they are gathered for a moment. */
const GATHER_BYTES = 16_000 // the most that one write of the library takes is 16 KiB
const MOST_BYTES = 4 * 1024 * 1024 // kept for a reader that has stalled; lines beyond are dropped
const FLUSH_MS = 200

export type Log = {
  logger: Logger
  /** Writes out what has been gathered. */
  close(): Promise<void>
}

export function createLog(level: LogLevel): Log {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: GATHER_BYTES,
    maxLength: MOST_BYTES,
  })
  const timer = setInterval(() => destination.flush(), FLUSH_MS).unref()
  const logger = createLogger(level, destination)
  return { logger, close }

  function close(): Promise<void> {
    clearInterval(timer)
    return new Promise((resolve) => destination.flush(() => resolve()))
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
