/** Waits for a condition that has no event. The machine may be busy. */

import { setTimeout as wait } from 'node:timers/promises'

const EVERY_MS = 50

/** Resolves when `holds` does; rejects after `timeout` ms. */
export async function until(holds: () => Promise<boolean>, timeout = 90_000): Promise<void> {
  const end = Date.now() + timeout
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`after ${timeout} ms it still does not hold: ${holds}`)
    await wait(EVERY_MS)
  }
}
