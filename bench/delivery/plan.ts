/** How much is measured, and how long each trouble lasts. */

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../../tests/support/node.ts'
import { PUBLISHED } from '../report/publish.ts'

export type Plan = {
  rounds: number
  /** Fewest errors that each visitor raises in a round. */
  errors: number
  /** Milliseconds between two errors of one visitor: where there is no trouble to wait for, where there is a short one, a long one. */
  everyMs: number
  oftenMs: number
  seldomMs: number
  /** How long Sentry is away, and how long all is well before and after. */
  awayMs: number
  calmMs: number
  /** How long a slow Sentry takes to answer. */
  slowMs: number
  /** How long a killed process is gone. */
  goneMs: number
  /** Tabs of each visitor in a storm, and the errors in each of them. */
  tabs: number
  stormErrors: number
  /** What a cell needs to stand in the table. */
  leastErrors: number
}

/** Three visitors a way, one with each SDK: 207 errors or more in each cell. */
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
  leastErrors: 200,
}

/** Shows that all is counted right, and says nothing of how much arrives where much is asked. */
export const QUICK: Plan = {
  ...FULL,
  rounds: 1,
  errors: 6,
  seldomMs: 200,
  awayMs: 2_000,
  calmMs: 500,
  slowMs: 3_000,
  goneMs: 200,
  tabs: 2,
  leastErrors: 6,
}

export type Arguments = {
  quick: boolean
  /** Where tables, figures and picture go. */
  folder: string
  /** Whether README shows them. */
  publish: boolean
  /** Situations of which none of these words is in the title are left out, and listed as such. */
  only: string[]
}

/** Reads `--quick`, `--out FOLDER`, `--publish` and `--only WORDS`, which may stand several times. Throws on others. */
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
