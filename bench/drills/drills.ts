/**
 * Runs failure drills on the shipped compose file: `npm run drills -- [--only NAME] [--publish]`. Prints a table, and writes it into
 * `docs/benchmarks.md` with --publish. Exits with 1 when a drill breaks an expectation.
 */

import { parseArgs } from 'node:util'
import { unmet } from '../../tests/support/requirements.ts'
import { describeLoad, describeMachine } from '../report/machine.ts'
import { putIntoPage } from '../report/publish.ts'
import { logSteps, runInWords } from '../report/run.ts'
import { CONTAINER_DRILLS } from './container-drills.ts'
import type { Drill, Result } from './drill.ts'
import { runDrill } from './runner.ts'
import { CERTIFICATE_DRILL, SENTRY_DRILLS } from './sentry-drills.ts'
import { type SiteKind, startSite } from './site.ts'
import { DAMAGED_FILE_DRILL, FULL_DISK_DRILL, NATS_DRILLS } from './storage-drills.ts'
import { drawTable } from './table.ts'

const PAGE = 'docs/benchmarks.md'
const KINDS: readonly SiteKind[] = ['file', 'small-disk', 'nats']

/** All drills, in the order in which they run on one site. */
const DRILLS: readonly Drill[] = [
  ...SENTRY_DRILLS,
  ...CONTAINER_DRILLS,
  DAMAGED_FILE_DRILL,
  CERTIFICATE_DRILL,
  FULL_DISK_DRILL,
  ...NATS_DRILLS,
]

type Arguments = { drills: readonly Drill[]; publish: boolean }

/** Reads `--only NAME`, which may be repeated, and `--publish`. Throws on other arguments. */
export function readArguments(args: string[]): Arguments {
  const options = { only: { type: 'string', multiple: true }, publish: { type: 'boolean' } } as const
  const { only, publish = false } = parseArgs({ args, options }).values
  const unknown = only?.find((name) => !DRILLS.some((drill) => drill.name === name))
  if (unknown !== undefined)
    throw new Error(`"${unknown}" is no drill; these are: ${DRILLS.map(({ name }) => name).join(', ')}`)
  if (only && publish) throw new Error('--publish needs the results of all drills; leave out --only')
  return { drills: DRILLS.filter(({ name }) => only?.includes(name) ?? true), publish }
}

async function run(): Promise<void> {
  const { drills, publish } = readArguments(process.argv.slice(2))
  const missing = unmet('docker')
  if (missing) throw new Error(`drills cannot run here: ${missing}`)
  const about = [describeMachine(), describeLoad()].join(', ')
  const log = logSteps(performance.now())
  const results: Result[] = []
  for (const kind of KINDS) results.push(...(await runOnSite(kind, drills, log)))
  const table = `${about}. Envelopes of 3.3 KB.\n\n${drawTable(results)}`
  console.log(table)
  if (publish && results.length === drills.length) await putIntoPage('drills', table, PAGE)
  const passed = results.filter(({ failures }) => failures.length === 0).map(({ name }) => name)
  const failed = drills.filter(({ name }) => !passed.includes(name)).map(({ name }) => name)
  if (failed.length > 0) throw new Error(`expectations are broken in: ${failed.join(', ')}`)
}

/** Returns the results of the drills of one kind of site. A drill that could not run has none. */
async function runOnSite(
  kind: SiteKind,
  drills: readonly Drill[],
  log: (step: string) => void,
): Promise<Result[]> {
  const wanted = drills.filter(({ site }) => site === kind)
  if (wanted.length === 0) return []
  log(`Starting the containers (${kind})`)
  await using started = await startSite(kind)
  const results: Result[] = []
  for (const drill of wanted) {
    log(drill.title)
    const result = await runDrill(drill, started.site).catch((error: Error) => error)
    if (result instanceof Error) log(`${drill.name} could not run: ${result.message}`)
    else results.push(result)
    for (const failure of result instanceof Error ? [] : result.failures) log(`${drill.name}: ${failure}`)
  }
  log('Removing the containers')
  return results
}

if (import.meta.main) await runInWords(run)
