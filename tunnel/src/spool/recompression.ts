/** Compresses the bodies of spool entries that arrived compressed; the spool stores them decompressed. */

import { compressSpooled, type OutgoingBody } from '../body/outgoing.ts'
import type { Bodies, Body } from '../body/receive.ts'
import { Rejection } from '../rejections.ts'

const BYTES_PER_MS = 256 // slower than brotli in its highest quality

/** Queue of bodies: one is compressed at a time, to leave memory to live traffic. */
export class Recompression {
  readonly #bodies: Bodies
  #last: Promise<unknown> = Promise.resolve()
  #bytes = 0

  constructor(bodies: Bodies) {
    this.#bodies = bodies
  }

  /** Returns the milliseconds, rounded up, within which all bodies of the queue are compressed. */
  waitMs(): number {
    return Math.ceil(this.#bytes / BYTES_PER_MS)
  }

  /** Adds a body that had `wireBytes`. Resolves to `undefined` when there is not enough memory at the moment. */
  add(outgoing: OutgoingBody, wireBytes: number): Promise<Body | undefined> {
    this.#bytes += outgoing.bytes
    const compressed = this.#last
      .then(() => compressSpooled(this.#bodies, outgoing, wireBytes))
      .catch((error) => {
        if (error instanceof Rejection) return undefined
        throw error
      })
      .finally(() => {
        this.#bytes -= outgoing.bytes
      })
    this.#last = compressed.catch(() => undefined)
    return compressed
  }
}
