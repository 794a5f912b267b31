/** How much is measured. */

import { parseArgs } from 'node:util'
import type { BodyKind } from './requests.ts'

export type Plan = {
  rounds: number
  /** Envelopes before the first round, and in each, by body. */
  bodies: Record<BodyKind, { warmUp: number; posts: number }>
  /** Envelopes posted at the fixed rate. */
  steady: number
  /** Between which envelopes the growth of memory is looked at, and how often at each end. */
  growth: { from: number; to: number; looks: number }
  starts: number
  /** DSNs beside which one is compared. */
  projects: number
  /** The rounds of that comparison. */
  projectRounds: number
}

const DEFAULT: Plan = {
  rounds: 5,
  bodies: {
    '3.3 KB error': { warmUp: 10_000, posts: 20_000 },
    '40 KB span batch': { warmUp: 2_000, posts: 4_000 },
    '150 KB replay': { warmUp: 500, posts: 1_000 },
  },
  steady: 20_000,
  growth: { from: 100_000, to: 200_000, looks: 5 },
  starts: 5,
  projects: 1_000,
  projectRounds: 3,
}

const QUICK: Plan = {
  rounds: 1,
  bodies: {
    '3.3 KB error': { warmUp: 50, posts: 300 },
    '40 KB span batch': { warmUp: 20, posts: 100 },
    '150 KB replay': { warmUp: 20, posts: 50 },
  },
  steady: 300,
  growth: { from: 300, to: 900, looks: 1 },
  starts: 1,
  projects: 100,
  projectRounds: 1,
}

export type Arguments = { plan: Plan; json: string | undefined }

/** Reads `--quick` (a check that all is counted right, no claim on speed), `--long` and `--json FILE`. Throws on others. */
export function readArguments(args: string[]): Arguments {
  const { values } = parseArgs({
    args,
    options: { quick: { type: 'boolean' }, long: { type: 'boolean' }, json: { type: 'string' } },
  })
  const plan = values.quick ? QUICK : DEFAULT
  const growth = values.long ? { ...plan.growth, to: 1_000_000 } : plan.growth
  return { plan: { ...plan, growth }, json: values.json }
}
