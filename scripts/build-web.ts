/** Builds web when what it is made of has changed, and not otherwise. */

import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Environment } from '../tunnel/src/config/settings.ts'
import { withLock } from './lock.mjs'
import { runStep } from './progress.mjs'

/** The built server, below the root. */
export const WEB_SERVER = 'web/.next/standalone/web/server.js'

// What the build and the type check themselves make in `web/`.
const MADE = /^(\.next|node_modules|next-env\.d\.ts|.*\.tsbuildinfo)$/

/** Brings the build up to date, one process at a time. Rejects with `StepFailed`, which holds what the build said. */
export async function buildWeb(root: string, env: Environment, signal?: AbortSignal): Promise<void> {
  if (isFresh(root)) return
  const sayWeWait = (pid: number) => console.log(`Waiting for process ${pid}, which builds the web app …`)
  await withLock(join(root, '.culvert/web-build.lock'), () => build(root, env, signal), sayWeWait)
}

async function build(root: string, env: Environment, signal?: AbortSignal): Promise<void> {
  if (isFresh(root)) return // another process has just built it
  const made = hashSources(root) // before the build: what changes meanwhile is built next time
  rmSync(stampOf(root), { force: true })
  await runStep('Building the web app', ['npm', 'run', '--silent', 'build', '--workspace', 'web'], {
    cwd: root,
    env: { ...env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
    ...(signal && { signal }),
  })
  writeFileSync(stampOf(root), made)
}

function isFresh(root: string): boolean {
  if (!existsSync(stampOf(root)) || !existsSync(join(root, WEB_SERVER))) return false
  return readFileSync(stampOf(root), 'utf8') === hashSources(root)
}

/** Beside the build, so that one does not outlive the other. */
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

/** Returns the files of the tunnel that web imports: what the tunnel exports, and what that imports. */
export function sharedSources(root: string): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'tunnel/package.json'), 'utf8'))
  const files = new Set(Object.values<string>(exports).map((file) => join('tunnel', file)))
  for (const file of files) // grows meanwhile
    for (const [, path = ''] of readFileSync(join(root, file), 'utf8').matchAll(/ from '(\.[^']+)'/g))
      files.add(join(dirname(file), path))
  return [...files]
}

/** Returns the files that the build reads: web, what it imports of the tunnel, the packages, the compiler's settings. */
function sourcesOf(root: string): string[] {
  const entries = globSync('web/**/*', {
    cwd: root,
    withFileTypes: true,
    exclude: ({ name }) => MADE.test(name),
  })
  const own = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
  return [...own, ...sharedSources(root), 'package-lock.json', 'tsconfig.json']
}
