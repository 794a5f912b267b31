/** The fate of each envelope, settled once: counted, logged, and the last ones kept to look at. */

import type { Logger } from 'pino'
import type { Receipt } from './contract.ts'
import type { Metrics } from './metrics.ts'

export type Receipts = {
  settle(receipt: Receipt): void
  /** The last ones, oldest first. */
  recent(): Receipt[]
}

const KEPT = 2_000

export function createReceipts(metrics: Metrics, log: Logger): Receipts {
  const ring: Receipt[] = []
  let next = 0
  return { settle, recent }

  function settle(receipt: Receipt): void {
    metrics.count(receipt)
    log.info(receipt, 'envelope')
    ring[next] = receipt
    next = (next + 1) % KEPT
  }

  function recent(): Receipt[] {
    return ring.length < KEPT ? [...ring] : [...ring.slice(next), ...ring.slice(0, next)]
  }
}
