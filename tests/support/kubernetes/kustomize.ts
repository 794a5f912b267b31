/** Manifests as kustomize builds them. */

import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ROOT } from '../node.ts'
import { type Manifest, parseDocuments } from './manifests.ts'

export type Build = {
  secrets: Record<string, string>
  components?: string[]
  /** Texts by path below `deploy/kubernetes`, as an operator adds them. */
  files?: Record<string, string>
}

/** Runs kustomize on a copy of the manifests with secrets of its own. */
export function kustomize({ secrets, components = [], files = {} }: Build): string {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'))
  try {
    cpSync(resolve(ROOT, 'deploy'), join(folder, 'deploy'), { recursive: true })
    const { NATS_USER = '', NATS_PASSWORD = '', CLUSTER_PASSWORD = '', ...culvert } = secrets
    const write = (file: string, env: Record<string, string>) =>
      writeFileSync(
        join(folder, 'deploy/kubernetes', file),
        Object.entries(env)
          .map((pair) => pair.join('='))
          .join('\n'),
      )
    write('secrets.env', culvert)
    write('nats-secrets.env', { NATS_USER, NATS_PASSWORD, CLUSTER_PASSWORD })
    for (const [file, text] of Object.entries(files))
      writeFileSync(join(folder, 'deploy/kubernetes', file), text)
    appendFileSync(
      join(folder, 'deploy/kubernetes/kustomization.yaml'),
      `\ncomponents: ${JSON.stringify(components)}\n`,
    )
    // Of all manifests, only the dashboard lies outside of their folder.
    const unrestricted = components.includes('monitoring')
      ? ['--load-restrictor', 'LoadRestrictionsNone']
      : []
    const args = ['kustomize', ...unrestricted, 'deploy/kubernetes']
    const { stdout, stderr } = spawnSync('kubectl', args, { cwd: folder, encoding: 'utf8' })
    if (stderr !== '') throw new Error(stderr)
    return stdout
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Builds the manifests with kustomize and takes the hashes out of the names of ConfigMaps and Secrets. */
export function build(wanted: Build): Manifest[] {
  const hashed = /(name: (?:culvert(?:-settings|-nats)?|nats))-[0-9a-z]{10}\b/g
  return parseDocuments(kustomize(wanted).replaceAll(hashed, '$1'))
}
