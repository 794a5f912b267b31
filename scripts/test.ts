/** Runs the tests: installs the programs they need, and ends with the number of tests that passed, failed and were skipped. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type CliOptions,
  parseCLI,
  type Reporter,
  type SerializedError,
  startVitest,
  type TestCase,
  type TestModule,
  type TestSuite,
} from 'vitest/node'
import { REMEDIES, type Requirement } from '../tests/support/requirements.ts' // also declares the metadata of a skipped test
import { buildSdk } from './build/sdk.ts'
import { buildWeb } from './build-web.ts'
import { explain, ROOT, readEnvironment, UserError } from './environment.ts'
import {
  CHROMIUM,
  canInstall,
  extractHelm,
  extractNatsServer,
  FIREFOX,
  findProgram,
  HEADLESS_SHELL,
  install,
  WEBKIT_DRIVER,
  XVFB,
} from './programs.ts'
import type { StepFailed } from './progress.mjs'

type Environment = ReturnType<typeof readEnvironment>

/** Results of a run. */
type Tally = {
  passed: number
  /** Failed tests, and files and hooks that failed without a test. */
  failed: number
  /** Reason of each skipped test, by its name. */
  skips: Map<string, string>
  /** Files of which no test ran, with the requirements that this machine lacks. */
  idle: Map<string, Set<Requirement>>
  /** Time of the tests and hooks of each file, in ms. */
  durations: Map<string, number>
}

/** Permission to skip the tests whose names begin with `name`, for `reason`. */
type AllowedSkip = { name: string; reason: string }

const USAGE = `npm test -- [files] [flags]
Runs all tests except those of the projects stack, pairs and alone, which take long.
  --project NAME    run one project: unit, contract, process, browser, stack, pairs or alone; '*' runs all
  --watch           run again when a file changes
  --coverage        print the coverage of tunnel/src
  --runs N          run only the fuzz test, with N envelopes instead of 20000
  --seed N          run only the fuzz test, with this seed instead of 1
All other flags are those of vitest run.`

async function main(): Promise<void> {
  const env = readEnvironment()
  const args = process.argv.slice(2)
  if (args.includes('--help')) return console.log(USAGE)
  const fuzz = { FUZZ_RUNS: takeNumber(args, '--runs'), FUZZ_SEED: takeNumber(args, '--seed') }
  const isWatching = args.includes('--watch')
  const { filter, options } = parseCLI(['vitest', ...(isWatching ? [] : ['run']), ...args])
  for (const [name, value] of Object.entries(fuzz)) if (value !== undefined) process.env[name] = value
  const isFuzzing = fuzz.FUZZ_RUNS !== undefined || fuzz.FUZZ_SEED !== undefined
  if (isFuzzing && filter.length === 0) filter.push('tests/contract/fuzz/')
  if (filter.length === 0) options.project ??= ['!stack', '!pairs', '!alone'] // they take long: npm run test:stack
  const isUnitOnly = [options.project].flat().every((name) => name === 'unit') // needs no program and no build
  if (filter.length === 0 && !isUnitOnly) await installRequirements(env)
  if (isWatching) await startVitest(filter, { ...options, root: ROOT })
  else await runAndExit(filter, options, env)
}

async function runAndExit(filter: string[], options: CliOptions, env: Environment): Promise<never> {
  const { promise, resolve } = Promise.withResolvers<Tally>()
  const reporter: Reporter = { onTestRunEnd: (modules, errors) => resolve(countResults(modules, errors)) }
  const reporters = ['default', reporter]
  const vitest = await startVitest(filter, { ...options, root: ROOT, watch: false, reporters })
  await vitest.close() // sets the exit code when it fails
  const { passed, failed, skips, idle, durations } = await promise
  printSlowest(durations, console.log)
  const forbidden = reportSkips(skips, env.CI ? readAllowedSkips(ROOT) : undefined, console.log)
  console.log(`${passed} passed, ${failed} failed, ${skips.size} skipped`)
  const unrun = [...idle].filter(([file]) => isNamed(file, filter))
  for (const [file, lacks] of unrun)
    console.error(
      [`culvert: no test of ${file} ran.`, ...[...lacks].map((name) => REMEDIES[name])].join('\n  '),
    )
  const isRed = failed > 0 || passed === 0 || forbidden > 0 || unrun.length > 0 || Boolean(process.exitCode)
  process.exit(isRed ? 1 : 0)
}

/** Takes a flag that vitest does not know and its number out of the arguments: `--runs 5` or `--runs=5`. Throws without a number. */
function takeNumber(words: string[], flag: string): string | undefined {
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`))
  if (at === -1) return undefined
  const [word, next] = words.splice(at, words[at] === flag ? 2 : 1)
  const value = next ?? word?.slice(flag.length + 1) ?? ''
  if (!/^[1-9]\d{0,8}$/.test(value))
    throw new UserError(`${flag} needs a number of up to 9 digits, such as ${flag} 1000000`)
  return value
}

/** Debian packages that the tests need, each with the programs of which one is enough. */
const PACKAGES: Record<string, string[]> = {
  'nginx-light': ['nginx'],
  caddy: ['caddy'],
  haproxy: ['haproxy'],
  'apache2-bin': ['apache2'],
  chromium: CHROMIUM,
  'chromium-headless-shell': HEADLESS_SHELL,
  'firefox-esr': FIREFOX,
  'webkit2gtk-driver': WEBKIT_DRIVER,
  xvfb: XVFB,
  strace: ['strace'],
  prometheus: ['promtool'],
  unzip: ['unzip'],
}

/** Installs what is missing, as far as it can; tests that lack the rest are skipped with a reason, or fail. */
async function installRequirements(env: Environment): Promise<void> {
  await installPackages(env)
  await extractHelm(ROOT, env).catch(printFailure)
  extractNatsServer(ROOT, env.PATH ?? '')
  await buildSdk(ROOT).catch(printFailure)
  await buildWeb(ROOT, env).catch(printFailure)
}

/** Installs all packages at once, or each alone when that fails: one may not exist for this machine. */
async function installPackages(env: Environment): Promise<void> {
  const missing = Object.keys(PACKAGES).filter((name) => !findProgram(PACKAGES[name] ?? [], env.PATH ?? ''))
  if (missing.length === 0 || !canInstall(env)) return
  await install(missing, env).catch(async () => {
    for (const name of missing) await install([name], env).catch(printFailure)
  })
}

function printFailure(error: StepFailed): void {
  console.error(error.output)
  console.error(`culvert: ${error.message}`)
}

function countResults(
  modules: ReadonlyArray<TestModule>,
  unhandledErrors: ReadonlyArray<SerializedError>,
): Tally {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const suites = modules.flatMap((module) => [module, ...module.children.allSuites()])
  const inState = (state: string) => tests.filter((test) => test.result().state === state)
  const broken = suites.filter((suite) => suite.errors().length > 0)
  const skips = inState('skipped').map((test): [string, string] => [
    `${test.module.relativeModuleId} > ${test.fullName}`,
    skipReason(test),
  ])
  return {
    passed: inState('passed').length,
    failed: inState('failed').length + broken.length + unhandledErrors.length,
    skips: new Map(skips),
    idle: new Map(modules.filter(isIdle).map((module) => [module.relativeModuleId, lacksOf(module)])),
    durations: new Map(modules.map((module) => [module.relativeModuleId, module.diagnostic().duration])),
  }
}

/** Returns whether no test of a module ran, at least one of them because of a requirement. */
function isIdle(module: TestModule): boolean {
  const tests = [...module.children.allTests()]
  return tests.every((test) => test.result().state === 'skipped') && lacksOf(module).size > 0
}

/** Returns the requirements that skipped tests of a module lack. */
function lacksOf(module: TestModule): Set<Requirement> {
  const nodes = [module, ...module.children.allSuites(), ...module.children.allTests()]
  return new Set(nodes.flatMap((node) => node.meta().lacks ?? []))
}

/** Returns whether a word of the command line is the path of this file, and not that of a folder. */
function isNamed(file: string, words: readonly string[]): boolean {
  return words.some(
    (word) =>
      /\.test\.ts(:\d+)?$/.test(word) && join(ROOT, file).endsWith(join('/', word.replace(/:\d+$/, ''))),
  )
}

const SLOWEST = 10

/** Prints the files that took longest, the slowest first. */
function printSlowest(durations: Map<string, number>, print: (line: string) => void): void {
  const slowest = [...durations].toSorted(([, a], [, b]) => b - a).slice(0, SLOWEST)
  print(`Slowest files (${slowest.length} of ${durations.size}):`)
  for (const [file, ms] of slowest) print(`  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`)
}

function skipReason(test: TestCase): string {
  const result = test.result()
  const note = result.state === 'skipped' ? result.note : undefined
  return note ?? test.meta().skipReason ?? skipReasonOfSuite(test.parent) ?? 'no reason given'
}

function skipReasonOfSuite(suite: TestSuite | TestModule): string | undefined {
  if (suite.errors().length > 0) return 'its set-up failed'
  return suite.meta().skipReason ?? (suite.type === 'module' ? undefined : skipReasonOfSuite(suite.parent))
}

/** Reads `.ci/skips.txt`: lines like `beginning of the name: reason`; `#` begins a comment. */
function readAllowedSkips(root: string): AllowedSkip[] {
  const file = join(root, '.ci/skips.txt')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  return lines
    .map((line) => /^(?!#)\s*(\S.*?): (.+?)\s*$/.exec(line))
    .flatMap((match) => (match ? [{ name: match[1] ?? '', reason: match[2] ?? '' }] : []))
}

/** Prints the skipped tests by reason. Returns how many of them are not in `allowed`; without it all are allowed. */
function reportSkips(
  skips: Map<string, string>,
  allowed: AllowedSkip[] | undefined,
  print: (line: string) => void,
): number {
  const byReason = Map.groupBy(skips.keys(), (name) => skips.get(name) ?? '')
  for (const [reason, names] of byReason) {
    print(`Skipped, ${reason} (${names.length}):`)
    for (const name of names) print(`  ${name}`)
  }
  const isAllowed = (name: string, reason: string) =>
    !allowed || allowed.some((each) => name.startsWith(each.name) && reason === each.reason)
  const forbidden = [...skips].filter(([name, reason]) => !isAllowed(name, reason))
  if (forbidden.length > 0)
    print(`culvert: ${forbidden.length} skipped tests are not listed in .ci/skips.txt.`)
  return forbidden.length
}

await main().catch((error) => {
  explain(error)
  process.exit() // workers may be running
})
