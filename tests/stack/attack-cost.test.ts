/**
 * Cost of the attacks in the corpus, for a tunnel in the shipped container with its shipped limits. Uploads that stay open, and attacks 32
 * at once, are in `tests/process/security/tunnel-process.test.ts`.
 */

import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../scripts/start/free-port.ts'
import { BRIDGE, type Compose, startCompose } from '../support/docker/compose.ts'
import { requires } from '../support/requirements.ts'
import { createCorpus, HELD, largeBody } from '../support/security/corpus.ts'
import { type CountingSentry, startCountingSentry } from '../support/security/counting-sentry.ts'
import { memoryCgroup, programOf } from '../support/security/peak-memory.ts'
import { attackAlone, type Cost, describeCosts, type Target } from '../support/security/withstand.ts'
import { makeFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const CORPUS = createCorpus().filter((entry) => !HELD.includes(entry))

/** Lines: PID of its init process, then each address. */
const STATE = '{{.State.Pid}}\n{{range .NetworkSettings.Networks}}{{.IPAddress}}\n{{end}}'

describe('The tunnel in a container', requires('docker', 'proc'), () => {
  const started = new AsyncDisposableStack()
  const costs: Cost[] = []
  let sentry: CountingSentry
  let stack: Compose
  let container: string
  let url: string
  /** Running container: its init process, and the address that its admin port listens on. */
  let running: { init: number; admin: string } | undefined

  beforeAll(async () => {
    sentry = started.use(await startCountingSentry(BRIDGE))
    const folder = started.use(await makeFolder())
    const port = await freePort()
    const override = join(folder.path, 'published.yml')
    const tunnel = { deploy: { replicas: 1 }, ports: [`127.0.0.1:${port}:9090`] }
    await writeFile(override, JSON.stringify({ services: { tunnel } })) // JSON is valid YAML
    url = `http://127.0.0.1:${port}`
    stack = started.use(
      await startCompose({
        services: ['tunnel'],
        env: { SENTRY_DSN: sentry.dsn, COMPOSE_FILE: `docker-compose.yml:${override}` },
      }),
    )
    container = (await stack.containers('tunnel'))[0] ?? expect.unreachable()
  })

  afterAll(async () => {
    console.log(describeCosts(costs))
    await started.disposeAsync()
  })

  it.each(CORPUS)('answers a single request within 2.5 s and 100 MiB: $name', async (entry) => {
    const attack = await entry.build({ valid: sentry.dsn, foreign: sentry.foreignDsn })
    expect(record(await attackAlone(await target(), attack))).toEqual([])
  })

  it('answers a valid body of 99 MB within 6 s and 100 MiB', async () => {
    const body = Buffer.concat([...largeBody(sentry.dsn)])
    const attack = { name: 'valid body of 99 MB', headers: {}, body, isValid: true }
    expect(record(await attackAlone(await target(), attack, { maxSeconds: 6 }))).toEqual([])
  })

  /** Returns the running container. Waits for the restart of one that died, so that an attack has a tunnel of its own. */
  async function target(): Promise<Target> {
    while (running === undefined || !(await isReady(running))) running = await findRunning()
    const { init, admin } = running
    const isAlive = () => isReady({ init, admin })
    return { url, pid: programOf(init), cgroup: memoryCgroup(init), sentry, isAlive }
  }

  /** Waits until one of the container's addresses responds. */
  async function findRunning(): Promise<{ init: number; admin: string }> {
    let found: { init: number; admin: string } | undefined
    await until(async () => {
      const lines = await stack.docker('inspect', '--format', STATE, container)
      const [init, ...addresses] = lines.split('\n')
      for (const admin of addresses.filter(Boolean))
        if (await isReady({ init: Number(init), admin })) found = { init: Number(init), admin }
      return found !== undefined
    })
    return found ?? expect.unreachable()
  }

  /** Returns whether that process runs and responds: after a restart the container has another one. */
  async function isReady({ init, admin }: { init: number; admin: string }): Promise<boolean> {
    if (!existsSync(`/proc/${init}`)) return false
    const response = await fetch(`http://${admin}:9091/livez`).catch(() => undefined)
    return response?.ok === true
  }

  /** Returns the guarantees that did not hold. */
  function record(cost: Cost): string[] {
    costs.push(cost)
    return cost.faults
  }
})
