/** Bodies that the tunnel itself has made, in memory. */

import type { MemoryBudget } from './memory-budget.ts'
import type { Body } from './receive.ts'

/** Creates a body that counts as one received. The caller bounds its size. */
export function createBody(bytes: Buffer, memory: MemoryBudget): Body {
  memory.reserve(bytes.length)
  let isReleased = false
  return {
    wire: [bytes],
    wireBytes: bytes.length,
    encoding: 'identity',
    head: Buffer.alloc(0),
    async *decompressed() {
      yield bytes
    },
    release() {
      if (!isReleased) memory.release(bytes.length)
      isReleased = true
      return undefined
    },
  }
}
