/** Bounds of a store that both engines apply: shares of networks, and what dead letters may take. */

import { networksAround } from 'contract/networks'

export const DEAD_LETTER_MS = 7 * 24 * 60 * 60 * 1000
const DEAD_LETTER_SHARE = 0.1 // of the bytes of pending entries
const DEAD_LETTER_LINES = 10_000 // most of them perhaps without a body
const BYTES_OF_LINE = 4 * 1024 // of the bound of bodies, for each line

/** Returns the bytes and lines that dead letters may take beside so many bytes of pending entries. */
export function deadLetterLimits(pendingBytes: number): { bytes: number; lines: number } {
  const bytes = pendingBytes * DEAD_LETTER_SHARE
  return { bytes, lines: Math.min(DEAD_LETTER_LINES, Math.ceil(bytes / BYTES_OF_LINE)) }
}

/** Returns the networks around one, the smallest first, each with the share of a bound that its entries may take. */
export function networkShares(network: string, addressShare: number): { name: string; share: number }[] {
  return networksAround(network).map(({ name, factor }) => ({
    name,
    share: Math.min(1, addressShare * factor),
  }))
}
