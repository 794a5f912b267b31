/** Real Bugsink in a container, with the project that `deploy/bugsink.yml` makes. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Compose } from './compose.ts'

const HEALTH = { interval: '2s', start_period: '240s' } // it migrates its tables first, in a minute on a busy machine

export type Bugsink = Awaited<ReturnType<typeof openBugsink>>

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

/** Returns the Bugsink of a stack, which is published on `port`. */
export async function openBugsink({ compose }: Compose, port: number) {
  /** Runs Python in Bugsink, and returns the last line that it prints. */
  async function manage(code: string): Promise<string> {
    const command = `export SECRET_KEY="$(cat /data/secret-key)"; exec bugsink-manage shell -v 0 -c "$1"`
    const output = await compose('exec', '-T', 'bugsink', 'sh', '-c', command, 'sh', code)
    return output.split('\n').at(-1) ?? ''
  }

  const key = await manage('from projects.models import Project; print(Project.objects.get().sentry_key.hex)')
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    dsn: (parts: { key?: string; project?: string; port?: number } = {}) =>
      `http://${parts.key ?? key}@127.0.0.1:${parts.port ?? port}/${parts.project ?? 1}`,
    manage,
    /** Returns the IDs of the stored events, which workers store after the response. */
    async events(): Promise<string[]> {
      const ids = await manage(
        'from events.models import Event; print(" ".join(e.hex for e in Event.objects.values_list("event_id", flat=True)))',
      )
      return ids.split(' ').filter(Boolean)
    },
  }
}
