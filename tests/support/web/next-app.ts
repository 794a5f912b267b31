/** Next.js app of `tests/fixtures/next-app`, built once for each version of its sources. */

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { NODE, ROOT } from '../node.ts'
import { startProgram } from '../program.ts'
import { until } from '../until.ts'

const SOURCES = join(ROOT, 'tests/fixtures/next-app')
const FOLDER = join(ROOT, '.culvert/next-app')
const STAMP = join(FOLDER, '.next/culvert-sources')
const NEXT = join(ROOT, 'node_modules/next/dist/bin/next')

export type NextAppSettings = {
  DSN: string
  /** URL to which the server reports. */
  TUNNEL: string
  /** URL to which browsers report. */
  BROWSER_TUNNEL: string
  TRACE_LIFECYCLE: 'stream' | 'static'
}

/** Starts the app on `port`, built first if needed. `await using` stops it. */
export async function startNextApp(port: number, settings: NextAppSettings) {
  await build()
  const env = { NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1', ...settings }
  const app = startProgram(
    'next start',
    NODE,
    [NEXT, 'start', FOLDER, '-H', '127.0.0.1', '-p', `${port}`],
    env,
  )
  await until(async () => (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined))?.ok === true)
  return { [Symbol.asyncDispose]: app.kill }
}

/** Runs in the folder of the app, where the SDK looks for its routes. */
async function build(): Promise<void> {
  const hash = hashSources()
  if ((await readFile(STAMP, 'utf8').catch(() => '')) === hash) return
  await rm(FOLDER, { recursive: true, force: true })
  await cp(SOURCES, FOLDER, { recursive: true })
  const env = { NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' }
  await promisify(execFile)(NODE, [NEXT, 'build'], { cwd: FOLDER, env: { PATH: process.env.PATH, ...env } })
  await writeFile(STAMP, hash)
}

function hashSources(): string {
  const hash = createHash('sha256').update(readFileSync(join(ROOT, 'package-lock.json')))
  for (const file of globSync('**/*.{js,jsx,json}', { cwd: SOURCES }).sort())
    hash.update(`${file}\0`).update(readFileSync(join(SOURCES, file)))
  return hash.digest('hex')
}
