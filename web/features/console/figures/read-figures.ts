/** Reads the figures of all replicas, which each of them returns. */

import type { Figures } from 'contract/figures'
import type { FiguresReading } from 'contract/situation/problems'
import type { Range } from './range.ts'

/** Returns the response of one of the replicas to a `GET` of this path. Rejects, with the reason, when there is none. */
export type AskFigures = (origins: readonly string[], path: string) => Promise<unknown>

type FiguresRequest = { range: Range; now: number; ask: AskFigures }

export async function readFigures(
  origins: readonly string[],
  { range, now, ask }: FiguresRequest,
): Promise<FiguresReading> {
  if (origins.length === 0) return { missing: 'Figures are missing: no replica responds.' }
  try {
    const figures = await ask(origins, `/figures?from=${now - range.ms}&to=${now}&step=${range.stepMs}`)
    if (isFigures(figures)) return { figures }
    return { missing: 'Figures are missing: unknown response.' }
  } catch (error) {
    return { missing: `Figures are missing: ${error instanceof Error ? error.message : 'unknown error'}.` }
  }
}

function isFigures(value: unknown): value is Figures {
  return typeof value === 'object' && value !== null && 'points' in value && Array.isArray(value.points)
}
