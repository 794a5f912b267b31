/** Lists the direct dependencies that are behind the newest version of the registry, apart from those held back for a reason. */

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT, runCommand, UserError } from './environment.ts'

const WORKSPACES = ['.', 'contract', 'tunnel', 'web']
const PARALLEL = 8

/** First version that is too new for a package, and the reason. */
type Pin = { names: RegExp; below: string; reason: string }

const PINS: readonly Pin[] = [
  {
    names: /^@sentry\/(browser|core|nextjs|react)$/,
    below: '11.6.0',
    reason: '@sentry/nextjs 11.6 and later need packages of the same version that cannot be installed yet',
  },
  {
    names: /^(vitest|@vitest\/coverage-v8)$/,
    below: '5.1.2',
    reason: '@vitest/coverage-v8 5.1.2 needs a version of a package that cannot be installed yet',
  },
  {
    names: /^(@types\/node|node-linux-.*)$/,
    below: '25.0.0',
    reason: 'Node 24 is the version of the images',
  },
  {
    names: /^node-linux-/,
    below: '24.22.0',
    reason: 'both architectures have the same version, and linux-x64 has no later one',
  },
  {
    names: /^kubernetes-models-1\.27$/,
    below: '4.3.1',
    reason: 'the oldest Kubernetes of the chart is 1.27',
  },
]

const USAGE = `npm run outdated
Lists the direct dependencies that have a newer version, and the newer versions that are left out for a reason.
It compares all published versions: the tag "latest" can be older than what is in use. It exits with 1 if one is behind without a reason.`

/** Compares two versions without pre-release parts. */
export function compareVersions(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}

/** Returns the newest version below a limit, without pre-releases. */
export function newestOf(versions: readonly string[], below?: string): string | undefined {
  return versions
    .filter((version) => /^\d+\.\d+\.\d+$/.test(version))
    .filter((version) => below === undefined || compareVersions(version, below) < 0)
    .toSorted(compareVersions)
    .at(-1)
}

/** Returns the versions in use by the name of the dependency. */
function readDependencies(): Map<string, string> {
  const all = WORKSPACES.flatMap((workspace) => {
    const file = readFileSync(join(ROOT, workspace, 'package.json'), 'utf8')
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(file)
    return Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies })
  })
  return new Map(all.filter(([name]) => !WORKSPACES.includes(name)))
}

/** Describes how far a dependency is behind, and whether a pin permits it; `undefined` when it is the newest. */
async function compare(name: string, wanted: string): Promise<{ isHeld: boolean; line: string } | undefined> {
  const [, alias, current] = /^(?:npm:(.+)@)?(.+)$/.exec(wanted) ?? []
  const { stdout } = await promisify(execFile)('npm', ['view', alias ?? name, 'versions', '--json'], {
    cwd: ROOT,
    maxBuffer: 16 * 1024 * 1024,
  })
  const versions = [JSON.parse(stdout)].flat()
  const pins = PINS.filter(({ names }) => names.test(name))
  const [lowest] = pins.map(({ below }) => below).toSorted(compareVersions)
  const isBehind = (below?: string) => compareVersions(newestOf(versions, below) ?? '', current ?? '') > 0
  if (isBehind(lowest)) return { isHeld: false, line: `${name} ${current}: ${newestOf(versions, lowest)}` }
  if (!isBehind()) return undefined
  const reasons = pins.map(({ reason }) => reason).join('; ')
  return { isHeld: true, line: `${name} ${current}, not ${newestOf(versions)}: ${reasons}` }
}

async function list(): Promise<void> {
  const pending = [...readDependencies()]
  const found: { isHeld: boolean; line: string }[] = []
  const work = async () => {
    for (let next = pending.shift(); next; next = pending.shift())
      found.push(...[await compare(...next)].filter((each) => each !== undefined))
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  const linesOf = (isHeld: boolean) =>
    found.flatMap((each) => (each.isHeld === isHeld ? `  ${each.line}` : [])).sort()
  if (linesOf(true).length > 0) console.log(`Held back:\n${linesOf(true).join('\n')}`)
  if (linesOf(false).length > 0) throw new UserError(`behind:\n${linesOf(false).join('\n')}`)
  console.log('Nothing else is behind.')
}

if (import.meta.main) await runCommand({ name: 'npm run outdated', usage: USAGE, flags: [] }, list)
