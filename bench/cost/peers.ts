/** Installs and builds the alternatives to Culvert, in a folder of their own, on first use. */

import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runStep, withLock } from '../../scripts/progress.mjs'
import { NODE, ROOT } from '../../tests/support/node.ts'

export const PEERS = join(import.meta.dirname, 'peers')

/** Standalone server of the Next.js app. */
export const NEXT = join(PEERS, 'next/.next/standalone/next')

const SOURCES = ['package-lock.json', 'next/next.config.mjs', 'next/app/layout.jsx', 'next/app/page.jsx']
const STAMP = join(PEERS, 'next/.next/culvert-sources')
const LOCK = join(ROOT, '.culvert/bench-peers.lock')

/** Builds the alternatives if needed, one process at a time. Rejects with `StepFailed`, which holds the output of npm or Next.js. */
export async function buildPeers(): Promise<void> {
  if (isFresh()) return
  await withLock(LOCK, build, (pid) => console.log(`Waiting for process ${pid}, which builds the peers …`))
}

async function build(): Promise<void> {
  if (isFresh()) return // another process has just built it
  const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' }
  await runStep(
    'Installing what Culvert is compared with',
    ['npm', 'ci', '--ignore-scripts', '--no-audit', '--loglevel=error'],
    {
      cwd: PEERS,
      env,
    },
  )
  const next = join(PEERS, 'node_modules/next/dist/bin/next')
  await runStep('Building a Next.js app with a rewrite', [NODE, next, 'build', 'next'], { cwd: PEERS, env })
  writeFileSync(STAMP, hashSources())
}

/** Compares the sources with those of the last build; the hash is deleted with the build. */
function isFresh(): boolean {
  return existsSync(STAMP) && existsSync(NEXT) && readFileSync(STAMP, 'utf8') === hashSources()
}

function hashSources(): string {
  const hash = createHash('sha256').update(process.version)
  for (const file of SOURCES) hash.update(readFileSync(join(PEERS, file)))
  return hash.digest('hex')
}
