/** Real Bugsink in a container, with the project that `deploy/bugsink.yml` makes. */

import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../scripts/start/free-port.ts'
import { makeFolder } from '../temporary-folder.ts'
import { callDocker } from './engine.ts'

const FILES = ['docker-compose.yml', 'deploy/bugsink.yml']
const HEALTH = { interval: '2s', start_period: '60s' }

export type Bugsink = Awaited<ReturnType<typeof startBugsink>>

/** Writes a compose file that publishes Bugsink on `port`. `env` are settings of Bugsink. */
export function writeOverride(folder: string, port: number, env: Record<string, string> = {}): string {
  const file = join(folder, 'bugsink-test.yml')
  const bugsink = { environment: env, healthcheck: HEALTH }
  const text = JSON.stringify({ services: { bugsink } }, undefined, 2)
  // Compose adds ports of several files, unless they are marked; JSON has no marks.
  writeFileSync(
    file,
    text.replace('"bugsink": {', `"bugsink": { "ports": !override ["127.0.0.1:${port}:8000"],`),
  )
  return file
}

/** Starts Bugsink without Culvert. `await using` removes it. */
export async function startBugsink(env: Record<string, string> = {}) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const port = await freePort()
  const files = [...FILES, writeOverride(folder.path, port, env)].flatMap((file) => ['--file', file])
  const project = ['--project-name', `culvert-test-${randomBytes(4).toString('hex')}`]
  const options = ['--env-file', '/dev/null', ...project, ...files]

  async function compose(...args: string[]): Promise<string> {
    const { stdout } = await callDocker(['compose', ...options, ...args])
    return stdout.trim()
  }

  starting.defer(async () => void (await compose('down', '--volumes')))
  await compose('up', '--detach', '--wait', 'bugsink')
  const manage = (code: string) => manageWith(compose, code)
  const key = await manage('from projects.models import Project; print(Project.objects.get().sentry_key.hex)')
  const started = starting.move()
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    dsn: (parts: { key?: string; project?: string; port?: number } = {}) =>
      `http://${parts.key ?? key}@127.0.0.1:${parts.port ?? port}/${parts.project ?? 1}`,
    manage,
    /** Returns the IDs of the stored events, which workers store after the response. */
    events: () => listEvents(manage),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

type Run = (...args: string[]) => Promise<string>

/** Runs Python in Bugsink, and returns the last line that it prints. */
export async function manageWith(compose: Run, code: string): Promise<string> {
  const command = `export SECRET_KEY="$(cat /data/secret-key)"; exec bugsink-manage shell -v 0 -c "$1"`
  const output = await compose('exec', '-T', 'bugsink', 'sh', '-c', command, 'sh', code)
  return output.split('\n').at(-1) ?? ''
}

export async function listEvents(manage: (code: string) => Promise<string>): Promise<string[]> {
  const ids = await manage(
    'from events.models import Event; print(" ".join(e.hex for e in Event.objects.values_list("event_id", flat=True)))',
  )
  return ids.split(' ').filter(Boolean)
}
