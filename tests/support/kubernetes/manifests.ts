/** Reads Kubernetes manifests. */

import type { IDeployment, IStatefulSet } from 'kubernetes-models/apps/v1'
import type { IConfigMap, IContainer, IEnvVarSource, IPodSpec, IService } from 'kubernetes-models/v1'
import { parseAllDocuments } from 'yaml'

export type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string; labels?: Record<string, string> }
  [field: string]: unknown
}
export type Workload = (IDeployment | IStatefulSet) & Manifest

export function parseDocuments(yaml: string): Manifest[] {
  return parseAllDocuments(yaml).map((document) => {
    if (document.errors[0]) throw document.errors[0]
    return document.toJS()
  })
}

export function workloadsOf(manifests: Manifest[]): Workload[] {
  return manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet') as Workload[]
}

export function servicesOf(manifests: Manifest[]): (IService & Manifest)[] {
  return manifests.filter(({ kind }) => kind === 'Service') as (IService & Manifest)[]
}

export function configOf(manifests: Manifest[], name: string): Record<string, string> {
  const map = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name)
  if (!map) throw new Error(`there is no ConfigMap ${name}`)
  return (map as IConfigMap).data ?? {}
}

export function podOf({ spec }: Workload): IPodSpec {
  const pod = spec?.template.spec
  if (!pod) throw new Error('a workload without pods')
  return pod
}

export const containersOf = (workload: Workload): IContainer[] => podOf(workload).containers
export const initContainersOf = (workload: Workload): IContainer[] => podOf(workload).initContainers ?? []
export const labelsOf = ({ spec }: Workload): Record<string, string> => spec?.template.metadata?.labels ?? {}

/** Returns the container that reads the settings: for nginx, the one that renders its configuration. */
export function configuredContainer(workload: Workload): IContainer | undefined {
  return [...initContainersOf(workload), ...containersOf(workload)][0]
}

/** Returns the environment of the container that reads a workload's settings, with `$(NAME)` expanded; `secrets` replace those of the cluster. */
export function environmentOf(workload: Workload, secrets: Record<string, string>): Record<string, string> {
  const container = configuredContainer(workload)
  const isGiven = ({ secretKeyRef }: IEnvVarSource) =>
    !secretKeyRef?.optional || (secretKeyRef.key ?? '') in secrets
  const each = (container?.env ?? [])
    .filter(({ valueFrom }) => valueFrom === undefined || isGiven(valueFrom))
    .map(({ name, value, valueFrom }) => [
      name,
      value ?? secrets[valueFrom?.secretKeyRef?.key ?? ''] ?? workload.metadata.name,
    ])
  const env: Record<string, string> = Object.fromEntries(each)
  for (const [name, value] of Object.entries(env))
    env[name] = value
      .replaceAll(/(?<!\$)\$\((\w+)\)/g, (reference, other: string) => env[other] ?? reference)
      .replaceAll('$$', '$')
  return env
}

/** Compares the labels that a selector requires. An empty selector matches nothing here. */
export function matches(
  selector: Record<string, string> | undefined,
  labels: Record<string, string>,
): boolean {
  const wanted = Object.entries(selector ?? {})
  return wanted.length > 0 && wanted.every(([name, value]) => labels[name] === value)
}

/** Finds a manifest by its name. */
export function named<T extends Manifest>(all: T[], name: string): T {
  const found = all.find(({ metadata }) => metadata.name === name)
  if (!found) throw new Error(`there is no ${name}`)
  return found
}

/** Returns the component of Culvert that a manifest belongs to, such as `tunnel`. */
export function componentOf({ metadata }: Manifest): string {
  return metadata.labels?.['app.kubernetes.io/component'] ?? ''
}

/** Finds the manifest of a component in a list that has one for each. */
export function componentIn<T extends Manifest>(all: T[], component: string): T {
  const found = all.find((each) => componentOf(each) === component)
  if (!found) throw new Error(`there is no ${component}`)
  return found
}
