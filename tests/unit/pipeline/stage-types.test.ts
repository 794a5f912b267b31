/** Types of stages, which `tsc` checks: a stage writes only the parts of the context that it names. */

import { expect, it } from 'vitest'
import type { Context, PendingReceipt, Stage } from '../../../tunnel/src/pipeline/pipeline.ts'

const read: Stage<'receipt' | 'addressBudget'> = (ctx) => {
  // @ts-expect-error the receipt is only read
  ctx.receipt.bytes = 1
  // @ts-expect-error so is the budget
  ctx.addressBudget = 1
  return undefined
}

const write: Stage<never, 'receipt' | 'remove'> = (ctx) => {
  ctx.receipt.bytes = 2
  // @ts-expect-error no policy has this reason
  ctx.remove([], 'invented')
  return undefined
}

it('lets a stage that names the receipt among its writes change it', () => {
  const receipt: PendingReceipt = { id: 'r-1', time: 0, items: [], bytes: 0, replica: 'r' }
  const ctx = { receipt, addressBudget: 0, remove: () => {} } as unknown as Context
  for (const stage of [read, write]) stage(ctx)
  expect(receipt.bytes).toBe(2)
})
