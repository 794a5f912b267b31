/** Defines how much is measured. */

import { parseArgs } from 'node:util'
import { BODY_KINDS, type BodyKind } from '../load/requests.ts'
import { PUBLISHED } from '../report/publish.ts'
import { SUBJECT_NAMES, type Subject } from './subjects.ts'

export type Plan = {
  subjects: readonly Subject[]
  bodies: readonly BodyKind[]
  rounds: number
  /** Rounds with the other kinds of body. */
  roundsForBody: number
  /** Duration of the warm-up of a server, and for another kind of body. It begins with an envelope on each connection. */
  warmUp: { seconds: number; secondsForBody: number }
  /** CPU time of a sample, its maximum duration, and its minimum of envelopes on each connection. */
  measured: { cpuSeconds: number; seconds: number; least: number }
  /** Numbers of projects, and of replicas, to compare. */
  projects: readonly number[]
  replicas: readonly number[]
  /** Rounds of these scenarios, and at the other fixed rates. */
  fewerRounds: number
  /** Rounds of an outage, and envelopes in the spool after each. */
  outages: { rounds: number; spooled: number }
  /** Samples at the main fixed rate, and the duration of a sample. */
  steady: { rounds: number; seconds: number }
  starts: number
}

const DEFAULT: Plan = {
  subjects: SUBJECT_NAMES,
  bodies: BODY_KINDS,
  rounds: 7,
  roundsForBody: 5,
  warmUp: { seconds: 5, secondsForBody: 1 }, // V8 optimizes until about 60,000 envelopes
  measured: { cpuSeconds: 0.3, seconds: 1, least: 2 },
  projects: [1, 1_000],
  replicas: [1, 2],
  fewerRounds: 3,
  outages: { rounds: 1, spooled: 2_000 },
  steady: { rounds: 7, seconds: 1 },
  starts: 5,
}

/** Compares one kind of body with the lower bounds, in about a minute. */
const QUICK: Plan = {
  ...DEFAULT,
  subjects: ['culvert', 'bare', 'behindNginx', 'chain'],
  bodies: ['3.3 KB error'],
}

export type Arguments = {
  plan: Plan
  /** Prints the ratios to the lower bounds, and nothing else. */
  isQuick: boolean
  /** Folder for tables, figures and the chart. */
  folder: string
  /** Writes the tables into `docs/benchmarks.md` too. */
  publish: boolean
}

/** Default folder of the results, and of those of a busy machine. */
export const FOLDER = '.culvert/bench'

/** Reads `--quick`, `--out FOLDER` and `--publish`. Throws on other arguments. */
export function readArguments(args: string[]): Arguments {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      out: { type: 'string' },
      publish: { type: 'boolean', default: false },
    },
  })
  const { quick, publish, out = publish ? PUBLISHED : FOLDER } = values
  if (quick && publish) throw new Error('--quick measures one kind of body, so it is not published')
  return { plan: quick ? QUICK : DEFAULT, isQuick: quick, folder: out, publish }
}
