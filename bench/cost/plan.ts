/** How much is measured. */

import { parseArgs } from 'node:util'
import { BODY_KINDS, type BodyKind } from '../load/requests.ts'
import { PUBLISHED } from '../report/publish.ts'

export type Plan = {
  bodies: readonly BodyKind[]
  rounds: number
  /** How long a server is warmed up; it begins with an envelope on each connection. */
  warmUp: { seconds: number }
  /** How much CPU time a measurement takes, how long at most, and its least envelopes on each connection. */
  measured: { cpuSeconds: number; seconds: number; least: number }
  /** The numbers of projects, and of replicas, that are compared. */
  projects: readonly number[]
  replicas: readonly number[]
  /** Rounds of these, and outages. */
  fewerRounds: number
  /** Envelopes that wait in the spool after an outage. */
  spooled: number
  /** Envelopes posted at the fixed rate, and how often. */
  steady: { posts: number; times: number }
  /** Between which envelopes the growth of memory is looked at, and how often at each end. */
  growth: { from: number; to: number; looks: number }
  starts: number
}

const DEFAULT: Plan = {
  bodies: BODY_KINDS,
  rounds: 5,
  warmUp: { seconds: 4 }, // until then what V8 has compiled still becomes faster
  measured: { cpuSeconds: 0.6, seconds: 2, least: 4 },
  projects: [1, 100, 1_000],
  replicas: [1, 2, 3, 4],
  fewerRounds: 3,
  spooled: 6_000,
  steady: { posts: 10_000, times: 5 },
  growth: { from: 100_000, to: 200_000, looks: 5 },
  starts: 5,
}

const QUICK: Plan = {
  bodies: ['3.3 KB error', '10 MB attachment'],
  rounds: 1,
  warmUp: { seconds: 0 },
  measured: { cpuSeconds: 0, seconds: 0, least: 2 },
  projects: [100],
  replicas: [2],
  fewerRounds: 1,
  spooled: 200,
  steady: { posts: 300, times: 1 },
  growth: { from: 300, to: 900, looks: 1 },
  starts: 1,
}

export type Arguments = {
  plan: Plan
  /** Where table, figures and picture go. */
  folder: string
  /** Whether README is to show them. */
  publish: boolean
}

const FOLDER = '.culvert/bench'

/** Reads `--quick` (a check that all is counted right, no claim on speed), `--long`, `--out FOLDER` and `--publish`. Throws on others. */
export function readArguments(args: string[]): Arguments {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean' },
      long: { type: 'boolean' },
      out: { type: 'string' },
      publish: { type: 'boolean', default: false },
    },
  })
  const { quick, long, publish, out = publish ? PUBLISHED : FOLDER } = values
  if (quick && publish) throw new Error('--quick says nothing of speed, so it is not published')
  const plan = quick ? QUICK : DEFAULT
  const growth = long ? { ...plan.growth, to: 1_000_000 } : plan.growth
  return { plan: { ...plan, growth }, folder: out, publish }
}
