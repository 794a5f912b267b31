/** What a replica tells of its spool while that does not answer. */

import { describe, expect, it } from 'vitest'
import type { Spool, SpoolTotals } from '../../../tunnel/src/spool/spool.ts'
import { tellSoon } from '../../../tunnel/src/spool/totals-timeout.ts'
import { createMemorySpool } from '../../support/spool/memory-spool.ts'

describe('A spool that does not answer', () => {
  it('is asked again only when every answer that is late has come, whoever asked', async () => {
    const store = createMemorySpool(Date.now)
    const told = await store.totals()
    const asked: PromiseWithResolvers<SpoolTotals>[] = []
    const slow: Spool = {
      ...store,
      totals() {
        const answer = Promise.withResolvers<SpoolTotals>()
        asked.push(answer)
        return answer.promise
      },
    }
    const spool = tellSoon(slow)
    const looks = await Promise.allSettled([spool.totalsSoon(), spool.totalsSoon()])
    expect(looks.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    asked[0]?.resolve(told)
    await asked[0]?.promise
    await expect(spool.totalsSoon()).rejects.toThrow('it does not answer')
    expect(asked).toHaveLength(2)
    asked[1]?.resolve(told)
    await asked[1]?.promise
    const again = spool.totalsSoon()
    asked[2]?.resolve(told)
    expect(await again).toEqual(told)
  })
})
