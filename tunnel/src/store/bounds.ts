/** Bounds of a store that both engines apply: shares of networks, and the space for dead letters. */

import { networksAround } from 'contract/networks'

export const DEAD_LETTER_MS = 7 * 24 * 60 * 60 * 1000
export const DEAD_LETTER_SHARE = 0.1 // of the bytes of pending entries

/** Returns the networks around one, the smallest first, each with the share of a bound that its entries may take. */
export function networkShares(network: string, addressShare: number): { name: string; share: number }[] {
  return networksAround(network).map(({ name, factor }) => ({
    name,
    share: Math.min(1, addressShare * factor),
  }))
}
