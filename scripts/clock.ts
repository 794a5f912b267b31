/** Time, to be handed in. */

import { setTimeout as sleep } from 'node:timers/promises'

export type Clock = {
  /** Milliseconds that only ever grow. */
  now: () => number
  /** Ends early when the signal aborts; never rejects. */
  wait: (ms: number, signal?: AbortSignal) => Promise<void>
}

export const wallClock: Clock = {
  now: () => performance.now(),
  wait: (ms, signal) => sleep(ms, undefined, signal && { signal }).catch(() => {}),
}

/** Waits for `event`, but no longer than `ms`. Rejects as it does. */
export async function within(ms: number, event: Promise<unknown>, clock: Clock): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([event, clock.wait(ms, over.signal)])
  } finally {
    over.abort()
  }
}
