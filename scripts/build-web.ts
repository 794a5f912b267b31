/** Builds web when its sources have changed since the last build. */

import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Environment } from 'contract/settings'
import { runStep, withLock } from './progress.mjs'

/** Path of the built server, from the root. */
export const WEB_SERVER = 'web/.next/standalone/web/server.js'

// Written by the build and the type check into `web/`.
const GENERATED = /^(\.next|node_modules|next-env\.d\.ts|.*\.tsbuildinfo)$/

/** Builds web if needed, one process at a time. Rejects with `StepFailed`, which holds the output of the build. */
export async function buildWeb(root: string, env: Environment, signal?: AbortSignal): Promise<void> {
  if (isFresh(root)) return
  const sayWait = (pid: number) => console.log(`Waiting for process ${pid}, which builds the web app …`)
  await withLock(join(root, '.culvert/web-build.lock'), () => build(root, env, signal), sayWait)
}

async function build(root: string, env: Environment, signal?: AbortSignal): Promise<void> {
  if (isFresh(root)) return // another process has just built it
  const hash = hashSources(root) // before the build: a change during the build needs another one
  rmSync(stampOf(root), { force: true })
  await runStep('Building the web app', ['npm', 'run', '--silent', 'build', '--workspace', 'web'], {
    cwd: root,
    env: { ...env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
    ...(signal && { signal }),
  })
  writeFileSync(stampOf(root), hash)
}

function isFresh(root: string): boolean {
  if (!existsSync(stampOf(root)) || !existsSync(join(root, WEB_SERVER))) return false
  return readFileSync(stampOf(root), 'utf8') === hashSources(root)
}

/** Returns the file that holds the hash of the built sources; it is deleted with the build. */
function stampOf(root: string): string {
  return join(root, 'web/.next/culvert-sources')
}

function hashSources(root: string): string {
  const hash = createHash('sha256').update(process.version)
  for (const file of sourcesOf(root).sort())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex')
}

/** Returns the files that the build reads: web, the folders that it imports, the documentation, the lockfile, the compiler's settings. */
function sourcesOf(root: string): string[] {
  const entries = globSync('{web,contract,tunnel/sdk/early-errors}/**/*', {
    cwd: root,
    withFileTypes: true,
    exclude: ({ name }) => GENERATED.test(name),
  })
  const own = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
  const docs = globSync('docs/{*.md,images/*,bench/*.svg}', { cwd: root })
  return [...own, ...docs, 'README.md', 'package-lock.json', 'tsconfig.json']
}
