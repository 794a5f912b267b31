/** A spool that is given a body only when there is room, beside all other bodies in hand, for what it holds of one. */

import type { Memory } from '../body/memory-budget.ts'
import type { Spool } from './spool.ts'

const WHOLE_BYTES = 1024 * 1024 // at most, of one body: a copy of a small one, a part or a few pieces of a large one
const BORROW_MS = 10_000 // then its sender hears that it is not kept

export function withinMemory<Kind extends Spool>(spool: Kind, memory: Memory): Kind {
  return Object.assign(Object.create(spool) as Kind, { put })

  async function put(...args: Parameters<Spool['put']>): ReturnType<Spool['put']> {
    const [{ bytes }] = args
    const giveBack = await memory.borrow(Math.min(bytes, WHOLE_BYTES), BORROW_MS)
    return spool.put(...args).finally(giveBack)
  }
}
