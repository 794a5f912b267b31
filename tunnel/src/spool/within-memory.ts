/** A spool that reads a body from a disk into memory only when there is room for it beside all other bodies in hand. */

import type { Memory } from '../memory.ts'
import type { Spool } from './spool.ts'

const WHOLE_BYTES = 1024 * 1024 // what a store holds of one body at a time: all of a small one, a part or a few pieces of a large one
const BORROW_MS = 10_000 // then its sender hears that it is not kept

export function withinMemory(spool: Spool, memory: Memory): Spool {
  return Object.assign(Object.create(spool) as Spool, { put })

  async function put(...args: Parameters<Spool['put']>): ReturnType<Spool['put']> {
    const [{ bytes }, body] = args
    if (Buffer.isBuffer(body)) return spool.put(...args)
    const giveBack = await memory.borrow(Math.min(bytes, WHOLE_BYTES), BORROW_MS)
    return spool.put(...args).finally(giveBack)
  }
}
