/** Defines how much is measured, and how long each disruption lasts. */

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../../tests/support/node.ts'
import { PUBLISHED } from '../report/publish.ts'

export type Plan = {
  rounds: number
  /** Minimum of errors that each visitor raises in a round. */
  errors: number
  /** Interval between two errors of a visitor: without a disruption, with a short one, with a long one. */
  everyMs: number
  oftenMs: number
  seldomMs: number
  /** Duration of the outage of Sentry, and of the time before and after it. */
  awayMs: number
  calmMs: number
  /** Response time of a slow Sentry. */
  slowMs: number
  /** Downtime of a killed process. */
  goneMs: number
  /** Tabs of each visitor in a storm, and errors in each tab. */
  tabs: number
  stormErrors: number
  /** Visitors of each subject, and report dialogs of each visitor, where the SDK or the connection is missing. */
  visitors: number
  dialogs: number
  /** Minimum of errors for a sample to be valid. */
  leastErrors: number
}

/** Full run: three visitors per subject, one with each SDK, and at least 207 errors in each sample. */
export const FULL: Plan = {
  rounds: 3,
  errors: 23,
  everyMs: 100,
  oftenMs: 400,
  seldomMs: 1500,
  awayMs: 30_000,
  calmMs: 4_000,
  slowMs: 5_000,
  goneMs: 1_000,
  tabs: 17,
  stormErrors: 100,
  visitors: 3,
  dialogs: 5,
  leastErrors: 200,
}

/** Short run that verifies the counts; its shares mean nothing. */
export const QUICK: Plan = {
  ...FULL,
  rounds: 1,
  errors: 4,
  seldomMs: 200,
  awayMs: 2_000,
  calmMs: 500,
  slowMs: 3_000,
  goneMs: 200,
  tabs: 2,
  visitors: 1,
  dialogs: 1,
  leastErrors: 4,
}

export type Arguments = {
  quick: boolean
  /** Folder for tables, figures and the chart. */
  folder: string
  /** Writes the tables into `docs/benchmarks.md` too. */
  publish: boolean
  /** Words of titles: scenarios without any of them are skipped, and listed as such. */
  only: string[]
}

/** Reads `--quick`, `--out FOLDER`, `--publish` and `--only WORDS`, which may be repeated. Throws on other arguments. */
export function readArguments(args: string[]): Arguments {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean' },
      out: { type: 'string' },
      publish: { type: 'boolean' },
      only: { type: 'string', multiple: true },
    },
  })
  const { quick = false, publish = false, only = [''] } = values
  const folder = publish ? join(ROOT, PUBLISHED) : (values.out ?? join(ROOT, '.culvert/bench'))
  return { quick, folder, publish, only }
}
