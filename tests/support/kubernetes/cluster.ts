/** Namespace in the cluster that KUBECONFIG names, with helm and kubectl in it. */

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { HELM_PROGRAM, KUBECTL_PROGRAM } from '../requirements.ts'
import { CHART, REQUIRED, type Values } from './chart.ts'
import type { Manifest } from './manifests.ts'

export type Finished = { code: number; stdout: string; stderr: string }
export type Namespace = Awaited<ReturnType<typeof makeNamespace>>

/** Runs a program with text on its standard input. Resolves also when it fails. */
export function run(program: string | undefined, args: string[], input = ''): Promise<Finished> {
  return new Promise((resolve) => {
    const child = execFile(program ?? '', args, { maxBuffer: 64 << 20 }, (error, stdout, stderr) =>
      resolve({ code: error ? 1 : 0, stdout, stderr }),
    )
    child.stdin?.end(input)
  })
}

export async function kubectl(args: string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await run(KUBECTL_PROGRAM, args, input)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`)
  return stdout
}

/** Creates a namespace that enforces the Pod Security Standard "restricted", and deletes it afterwards. */
export async function makeNamespace() {
  const name = `culvert-test-${randomBytes(4).toString('hex')}`
  const labels = ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted'])
  const metadata = { name, labels: Object.fromEntries(labels) }
  await create({ apiVersion: 'v1', kind: 'Namespace', metadata })
  const inside = ['--namespace', name]
  const get = async <T>(kind: string, object: string): Promise<T & Manifest> =>
    JSON.parse(await kubectl(['get', kind, object, '--output', 'json', ...inside]))
  return {
    name,
    kubectl: (...args: string[]) => kubectl([...args, ...inside]),
    get,
    /** Returns the objects of a kind, such as `pods`. */
    list: async <T>(kind: string): Promise<(T & Manifest)[]> =>
      JSON.parse(await kubectl(['get', kind, '--output', 'json', ...inside])).items,
    /** Runs helm with values, in addition to the required ones. */
    helm: (args: string[], values: Values = {}) =>
      run(HELM_PROGRAM, [...args, ...inside, '--values', '-'], JSON.stringify({ ...REQUIRED, ...values })),
    rollback: (revision: number) => run(HELM_PROGRAM, ['rollback', 'culvert', `${revision}`, ...inside]),
    uninstall: () => run(HELM_PROGRAM, ['uninstall', 'culvert', '--wait', ...inside]),
    /** Installs or upgrades the release `culvert`. Throws when helm fails. */
    deploy: async (values: Values = {}, more: string[] = []): Promise<Finished> => {
      const args = ['upgrade', '--install', 'culvert', CHART, ...inside, '--values', '-', ...more]
      const finished = await run(HELM_PROGRAM, args, JSON.stringify({ ...REQUIRED, ...values }))
      if (finished.code !== 0) throw new Error(finished.stderr)
      return finished
    },
    [Symbol.asyncDispose]: async () => void (await kubectl(['delete', 'namespace', name, '--wait=false'])),
  }
}

export async function create(object: object): Promise<void> {
  await kubectl(['create', '--filename', '-'], JSON.stringify(object))
}
