/** Calibration of the benchmark of cost. */

import { expect, it } from 'vitest'
import { type Comparison, driftOf } from '../../../bench/cost/comparison.ts'
import type { Sample } from '../../../bench/cost/measure.ts'
import { SUBJECT_NAMES } from '../../../bench/cost/subjects.ts'

const sampleOf = (cpu: number): Sample => ({ cpu, rate: 1, p50: 1, p99: 1, rss: 1, posts: 1 })

function comparisonOf(bare: readonly number[]): Comparison {
  const roundOf = (cpu: number) =>
    Object.fromEntries(SUBJECT_NAMES.map((name) => [name, sampleOf(name === 'bare' ? cpu : 10 * cpu * cpu)]))
  const rounds = bare.map(roundOf) as Comparison[number]['rounds']
  return [
    { kind: '1 KB session', rounds: [] },
    { kind: '3.3 KB error', rounds },
  ]
}

it('returns the largest difference between rounds of bare Node.js as a share', () => {
  expect(driftOf(comparisonOf([50, 60, 55]))).toBeCloseTo(0.2)
  expect(driftOf(comparisonOf([50]))).toBe(0)
})
