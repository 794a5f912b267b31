/** Chart as helm renders it. */

import { execFile, spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../node.ts'
import { HELM_PROGRAM } from '../requirements.ts'
import { type Manifest, parseDocuments } from './manifests.ts'

export const CHART = resolve(ROOT, 'deploy/helm/culvert')

type Value = string | number | boolean | Values | Value[]
export type Values = { [name: string]: Value }

/** Values that the chart requires. */
export const REQUIRED: Values = {
  image: { prefix: 'registry.example/culvert' },
  secrets: { SENTRY_DSN: 'https://key@o1.ingest.us.sentry.io/2' },
}

/** Runs helm with values on its standard input, in addition to the required ones. */
export function helm(
  args: string[],
  values: Values = {},
): { status: number | null; stdout: string; stderr: string } {
  const options = { input: JSON.stringify({ ...REQUIRED, ...values }), encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(HELM_PROGRAM ?? '', [...args, '--values', '-'], options)
  return { status, stdout, stderr }
}

const rendered = new Map<string, Manifest[]>()

/** Renders the release `culvert` in the namespace `culvert`, once for the same values: never change the result. */
export function renderChart(values: Values = {}, release = 'culvert'): Manifest[] {
  const key = JSON.stringify([values, release])
  const all = rendered.get(key) ?? render(values, release)
  rendered.set(key, all)
  return all
}

function render(values: Values, release: string): Manifest[] {
  const { status, stdout, stderr } = helm(['template', release, CHART, '--namespace', 'culvert'], values)
  if (status !== 0) throw new Error(stderr)
  return parseDocuments(stdout)
}

/** Runs helm with the required values and the cluster at `url`. Returns its output. */
export async function helmInCluster(url: string, args: string[]): Promise<string> {
  const values = Object.entries(REQUIRED).flatMap(([name, value]) => [
    '--set-json',
    `${name}=${JSON.stringify(value)}`,
  ])
  const cluster = ['--namespace', 'culvert', '--kube-apiserver', url, '--disable-openapi-validation']
  const { stdout } = await promisify(execFile)(HELM_PROGRAM ?? '', [...args, ...cluster, ...values])
  return stdout
}

/** Returns helm's message when it refuses values. */
export function renderProblem(values: Values): string {
  const { status, stderr } = helm(['template', 'culvert', CHART], values)
  if (status === 0) throw new Error('helm accepts these values')
  return stderr
}
