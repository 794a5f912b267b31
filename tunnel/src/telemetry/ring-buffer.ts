/** The last of many texts, numbered. They are kept as bytes: the garbage collector would move thousands of objects, and walk them again and again. */

export type RingBuffer = {
  /** The number of the newest; they count from 1. */
  newest(): number
  /** The number of the oldest that is kept; one more than the newest when none is. */
  oldest(): number
  /** Gives its number. */
  add(text: string): number
  /** One that is kept. */
  read(number: number): string
}

export type RingBufferBounds = { entries: number; bytes: number }

const MOST_UTF8_BYTES = 3 // of one of a string's characters

/** A ring of bytes, each text in one piece: one that does not fit at the end stands at the beginning. */
export function createRingBuffer({ entries, bytes }: RingBufferBounds): RingBuffer {
  const ring = Buffer.allocUnsafeSlow(bytes)
  const starts = new Uint32Array(entries)
  const ends = new Uint32Array(entries)
  let at = 0
  let oldest = 1
  let newest = 0
  return { newest: () => newest, oldest: () => oldest, add, read }

  function add(text: string): number {
    const most = text.length * MOST_UTF8_BYTES
    if (most > bytes) throw new RangeError(`a text of ${text.length} characters is too long to be kept`)
    if (at + most > bytes) beginAgain()
    forgetBefore(at + most)
    if (newest - oldest + 1 === entries) oldest++
    const slot = newest % entries
    starts[slot] = at
    at += ring.write(text, at)
    ends[slot] = at
    return ++newest
  }

  /** What stands between here and the end is the oldest. */
  function beginAgain(): void {
    forgetBefore(bytes)
    at = 0
  }

  function forgetBefore(end: number): void {
    while (oldest <= newest && isBetween(at, startOf(oldest), end)) oldest++
  }

  function startOf(number: number): number {
    return starts[(number - 1) % entries] ?? 0
  }

  function read(number: number): string {
    return ring.toString('utf8', startOf(number), ends[(number - 1) % entries])
  }
}

function isBetween(start: number, at: number, end: number): boolean {
  return start <= at && at < end
}
