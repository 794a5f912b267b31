/** What waits, told soon or not at all: nobody who looks at a replica waits for a disk or a server that is away. */

import { setTimeout as wait } from 'node:timers/promises'
import type { Spool, SpoolTotals } from './spool.ts'

export type Prompt<Kind extends Spool> = Kind & {
  /** Rejects after a second; from then on at once, and nothing more is asked, until all answers that are late have come. */
  totalsSoon(): Promise<SpoolTotals>
}

const SOON_MS = 1_000 // the console gives a replica 2 s

export function tellSoon<Kind extends Spool>(spool: Kind): Prompt<Kind> {
  let late = 0
  return Object.assign(Object.create(spool) as Kind, { totalsSoon })

  async function totalsSoon(): Promise<SpoolTotals> {
    if (late > 0) throw new Error('it does not answer')
    const asked = spool.totals()
    const told = await Promise.race([asked, wait(SOON_MS, undefined, { ref: false })])
    if (told) return told
    late++
    void asked.then(forget, forget)
    throw new Error('it does not answer')
  }

  function forget(): void {
    late--
  }
}
