/** Calibration of the benchmark of cost. */

import { expect, it } from 'vitest'
import { type Comparison, calmRounds, driftOf } from '../../../bench/cost/comparison.ts'
import type { Sample } from '../../../bench/cost/measure.ts'
import { SUBJECT_NAMES } from '../../../bench/cost/subjects.ts'

const sampleOf = (cpu: number): Sample => ({ cpu, rate: 1, p50: 1, p99: 1, rss: 1, posts: 1 })

function roundsOf(bare: readonly number[]): Comparison[number]['rounds'] {
  const roundOf = (cpu: number) =>
    Object.fromEntries(SUBJECT_NAMES.map((name) => [name, sampleOf(name === 'bare' ? cpu : 10 * cpu * cpu)]))
  return bare.map(roundOf) as Comparison[number]['rounds']
}

function comparisonOf(bare: readonly number[]): Comparison {
  return [
    { kind: '1 KB session', rounds: [], dropped: 0 },
    { kind: '3.3 KB error', rounds: roundsOf(bare), dropped: 0 },
  ]
}

it('returns the largest difference between rounds of bare Node.js as a share', () => {
  expect(driftOf(comparisonOf([50, 60, 55]))).toBeCloseTo(0.2)
  expect(driftOf(comparisonOf([50]))).toBe(0)
})

it.each([
  ['all rounds of a calm machine', [50, 55, 57], [50, 55, 57]],
  ['no round that other processes have slowed', [50, 90, 52, 57, 61], [50, 52, 57]],
  ['the larger group', [40, 60, 62, 65], [60, 62, 65]],
  ['nothing of nothing', [], []],
])('keeps %s', (_, bare, kept) => {
  expect(calmRounds(roundsOf(bare)).map((round) => round.bare.cpu)).toEqual(kept)
})
