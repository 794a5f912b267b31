/** Builds the SDK that the tunnel serves, when its sources or the lockfile have changed since the last build. */

import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  LOADER_FILE,
  MANIFEST_FILE,
  REACH_FILE,
  SDK_FOLDER,
  type SdkManifest,
} from '../../tunnel/sdk/manifest.ts'
import { ROOT } from '../environment.ts'
import { runStep, withLock } from '../progress.mjs'

const PROGRAM = 'tunnel/build-sdk.ts'

/** Builds the SDK if needed, one process at a time. Rejects with `StepFailed`, which holds the output of the build. */
export async function buildSdk(root: string, signal?: AbortSignal): Promise<void> {
  if (isFresh(root)) return
  const sayWait = (pid: number) => console.log(`Waiting for process ${pid}, which builds the SDK …`)
  await withLock(join(root, '.culvert/sdk-build.lock'), () => build(root, signal), sayWait)
}

async function build(root: string, signal: AbortSignal | undefined): Promise<void> {
  if (isFresh(root)) return // another process has just built it
  const command = [process.execPath, join(root, PROGRAM), hashSources(root)]
  await runStep('Building the SDK', command, { cwd: root, ...(signal && { signal }) })
}

function isFresh(root: string): boolean {
  const manifest = readManifest(root)
  return manifest?.sources === hashSources(root) && hasFiles(root, manifest)
}

function hasFiles(root: string, { bundles }: SdkManifest): boolean {
  const files = Object.values(bundles).flatMap(({ file }) => [file, `${file}.br`, `${file}.gz`])
  return [LOADER_FILE, REACH_FILE, ...files].every((file) =>
    existsSync(join(root, 'tunnel', SDK_FOLDER, file)),
  )
}

function readManifest(root: string): SdkManifest | undefined {
  const file = join(root, 'tunnel', SDK_FOLDER, MANIFEST_FILE)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

function hashSources(root: string): string {
  const sources = globSync('tunnel/sdk/**/*.ts', { cwd: root }).sort()
  const hash = createHash('sha256')
  for (const file of [...sources, PROGRAM, 'package-lock.json'])
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex')
}

function printSizes({ version, bundles }: SdkManifest): void {
  console.log(`@sentry/browser ${version}, in bytes:`)
  for (const [name, { raw, gzip, br }] of Object.entries(bundles))
    console.log(`  ${name.padEnd(8)}  ${raw}, with gzip ${gzip}, with brotli ${br}`)
}

if (import.meta.main) {
  await buildSdk(ROOT)
  const manifest = readManifest(ROOT)
  if (manifest) printSizes(manifest)
}
