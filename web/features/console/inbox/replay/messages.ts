/** Messages between the console and the frame that plays a replay. Times are in milliseconds since the start of the replay. */

/** Command to the frame. Commands to play and to pause have sequence numbers, from 1. */
export type Command =
  | { type: 'load'; segments: string[] }
  | { type: 'play'; at: number; sequence: number }
  | { type: 'pause'; at: number; sequence: number }
  | { type: 'speed'; factor: number }

/** Reason why a replay cannot be played. */
const PROBLEMS = ['unreadable', 'no-snapshot', 'too-large', 'failed'] as const
export type Problem = (typeof PROBLEMS)[number]

export type Report =
  /** `start` in milliseconds since 1970. */
  | { type: 'loaded'; start: number; duration: number }
  /** Size of the recorded page, in pixels. */
  | { type: 'size'; width: number; height: number }
  /** `sequence` is that of the last command to play or to pause, 0 before the first. */
  | { type: 'time'; at: number; sequence: number }
  | { type: 'ended'; sequence: number }
  | { type: 'failed'; problem: Problem }

/** Recordings of more bytes or events are not played. */
export const MAX_RECORDING_BYTES = 20 * 1024 * 1024 // 20 MiB, decompressed
export const MAX_EVENTS = 100_000

/** Largest recorded page, in pixels. */
const MAX_SIDE = 10_000

/** Reads a message of the frame, which plays untrusted data: it may have any content. */
export function readReport(given: unknown): Report | undefined {
  const { type, start, duration, width, height, at, sequence, problem }: Record<string, unknown> =
    Object(given)
  switch (type) {
    case 'loaded':
      return isTime(start) && isTime(duration) ? { type, start, duration } : undefined
    case 'size':
      return isSide(width) && isSide(height) ? { type, width, height } : undefined
    case 'time':
      return isTime(at) && typeof sequence === 'number' ? { type, at, sequence } : undefined
    case 'ended':
      return typeof sequence === 'number' ? { type, sequence } : undefined
    case 'failed':
      return { type, problem: PROBLEMS.find((each) => each === problem) ?? 'failed' }
    default:
      return undefined
  }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 8.64e15 // of a Date
}

function isSide(value: unknown): value is number {
  return typeof value === 'number' && value >= 1 && value <= MAX_SIDE
}
