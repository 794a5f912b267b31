/** Memory budget of request bodies, decoders and parsed headers. Reserving never waits, acquiring does. */

/** `acquire` found no room in time. */
export class OutOfMemoryBudget extends Error {}

const MAX_WAITING = 1_000
const LARGE_BYTES = 512 * 1024
const LARGE_SHARE = 0.75 // of the spare bytes, so that small bodies do not wait for large ones

type Waiter = { bytes: number; grant: (release: () => void) => void }

export class MemoryBudget {
  readonly #maxBytes: number
  readonly #spareBytes: number
  readonly #waiting: Waiter[] = []
  #usedBytes = 0
  #acquiredBytes = 0

  /** Without room, `spareBytes` can still be acquired, and any number while nothing else is: progress is never blocked. */
  constructor(maxBytes: number, spareBytes: number) {
    this.#maxBytes = maxBytes
    this.#spareBytes = spareBytes
  }

  /** Bytes reserved and acquired now. */
  usedBytes(): number {
    return this.#usedBytes
  }

  isExceeded(): boolean {
    return this.#usedBytes > this.#maxBytes
  }

  reserve(bytes: number): void {
    this.#usedBytes += bytes
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes
    if (this.#waiting.length > 0) this.#grantWaiting()
  }

  /**
   * Waits for room and resolves to a function that releases it. Of those waiting, the first that fits goes first. Rejects with
   * `OutOfMemoryBudget` after `waitMs`, or at once when 1,000 are waiting.
   */
  async acquire(bytes: number, waitMs: number): Promise<() => void> {
    if (this.#waiting.length >= MAX_WAITING) throw new OutOfMemoryBudget('too many bodies wait for memory')
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    const waiter = {
      bytes,
      grant(release: () => void) {
        clearTimeout(timer)
        resolve(release)
      },
    }
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
      reject(new OutOfMemoryBudget('too many bodies wait for memory'))
      this.#grantWaiting() // a smaller one may be next
    }, waitMs)
    this.#waiting.push(waiter)
    this.#grantWaiting()
    return promise
  }

  #grantWaiting(): void {
    for (;;) {
      const index = this.#waiting.findIndex(({ bytes }) => this.#hasRoomFor(bytes))
      const [next] = index < 0 ? [] : this.#waiting.splice(index, 1)
      if (!next) return
      const { bytes, grant } = next
      this.#acquiredBytes += bytes
      this.reserve(bytes)
      grant(() => {
        this.#acquiredBytes -= bytes
        this.release(bytes)
      })
    }
  }

  #hasRoomFor(bytes: number): boolean {
    const spareBytes = bytes > LARGE_BYTES ? this.#spareBytes * LARGE_SHARE : this.#spareBytes
    if (this.#acquiredBytes === 0 || this.#acquiredBytes + bytes <= spareBytes) return true
    return this.#usedBytes + bytes <= this.#maxBytes
  }
}
