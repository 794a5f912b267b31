/** Ring buffer of the most recent texts, with sequence numbers from 1. */

type RingBufferBounds = { entries: number; bytes: number }

const MAX_UTF8_BYTES = 3 // of one UTF-16 unit

/**
 * Keeps texts as bytes, each in one piece: 40,000 strings on the heap cost ten times as much, for garbage collection. A text that does not
 * fit at the end is written at the start.
 */
export class RingBuffer {
  readonly #bytes: Buffer
  readonly #starts: Uint32Array
  readonly #ends: Uint32Array
  #at = 0
  #oldest = 1
  #newest = 0

  constructor({ entries, bytes }: RingBufferBounds) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes)
    this.#starts = new Uint32Array(entries)
    this.#ends = new Uint32Array(entries)
  }

  /** Returns the number of the newest text, 0 without one. */
  newest(): number {
    return this.#newest
  }

  /** Returns the number of the oldest text that is kept, or the next number. */
  oldest(): number {
    return this.#oldest
  }

  /** Returns the number of the text. */
  add(text: string): number {
    const maxBytes = text.length * MAX_UTF8_BYTES
    if (maxBytes > this.#bytes.length)
      throw new RangeError(`a text of ${text.length} characters is too long to be kept`)
    if (this.#at + maxBytes > this.#bytes.length) {
      this.#forgetUntil(this.#bytes.length)
      this.#at = 0
    }
    this.#forgetUntil(this.#at + maxBytes)
    if (this.#newest - this.#oldest + 1 === this.#starts.length) this.#oldest++
    const slot = this.#newest % this.#starts.length
    this.#starts[slot] = this.#at
    this.#at += this.#bytes.write(text, this.#at)
    this.#ends[slot] = this.#at
    return ++this.#newest
  }

  read(number: number): string {
    return this.#bytes.toString('utf8', this.#startOf(number), this.#ends[(number - 1) % this.#ends.length])
  }

  /** Forgets the texts that start between the current position and `end`. They are the oldest. */
  #forgetUntil(end: number): void {
    for (; this.#oldest <= this.#newest; this.#oldest++) {
      const start = this.#startOf(this.#oldest)
      if (start < this.#at || start >= end) return
    }
  }

  #startOf(number: number): number {
    return this.#starts[(number - 1) % this.#starts.length] ?? 0
  }
}
