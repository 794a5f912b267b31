/** How fast what waits grows, and when the spool is full if it goes on so. */

import type { Spool } from './spool.ts'

export type GrowingSpool = Spool & {
  /** Seconds until `bytes` have grown to the bound at the rate of the last minutes; `undefined` when they do not grow. */
  fullIn(bytes: number): number | undefined
}

type Sample = { at: number; bytes: number }

export const SAMPLE_MS = 10_000
const WINDOW_MS = 2 * 60_000

/** `clock` in milliseconds, monotonic. */
export function watchGrowth(spool: Spool, clock: () => number): GrowingSpool {
  let samples: Sample[] = []
  const timer = setInterval(() => void sample().catch(() => undefined), SAMPLE_MS) // one that fails is left out
  timer.unref()
  return Object.assign(Object.create(spool) as Spool, { fullIn, close })

  async function sample(): Promise<void> {
    const { bytes } = await spool.totals()
    const at = clock()
    samples = [...samples.filter((old) => old.at > at - WINDOW_MS), { at, bytes }]
  }

  function fullIn(bytes: number): number | undefined {
    const [first] = samples
    const last = samples.at(-1)
    if (!first || !last || last.at === first.at) return undefined
    const perMs = (last.bytes - first.bytes) / (last.at - first.at)
    return perMs > 0 ? Math.max(0, spool.boundBytes - bytes) / perMs / 1000 : undefined
  }

  function close(): Promise<void> {
    clearInterval(timer)
    return spool.close()
  }
}
