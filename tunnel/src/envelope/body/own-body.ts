/** Bodies that the tunnel itself has made, in memory. */

import type { Body } from './bodies.ts'
import { decompress, type Encoding } from './decode.ts'
import type { MemoryBudget } from './memory-budget.ts'

/** Creates a body that counts as one received. The caller bounds its size. */
export function createBody(bytes: Buffer, memory: MemoryBudget, encoding: Encoding = 'identity'): Body {
  memory.reserve(bytes.length)
  let isReleased = false
  return {
    wire: [bytes],
    wireBytes: bytes.length,
    encoding,
    head: bytes,
    decompressed: () => decompress({ content: () => [bytes], encoding, head: bytes }, memory),
    release() {
      if (!isReleased) memory.release(bytes.length)
      isReleased = true
      return undefined
    },
  }
}
