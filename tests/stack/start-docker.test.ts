/** `npm start` in containers, and its end by Ctrl-C. */

import { randomBytes, randomInt } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../scripts/start/free-port.ts'
import { type Clone, makeClone } from '../support/clone.ts'
import { type Command, processesIn, runCommand } from '../support/command.ts'
import { callDocker } from '../support/docker/engine.ts'
import { requires } from '../support/requirements.ts'

const COMMAND = ['node', 'scripts/bootstrap.mjs', 'scripts/start.ts', '--docker']

describe('npm start in containers', { ...requires('docker', 'proc'), timeout: 600_000 }, () => {
  // Project name and port that do not conflict with other instances of Culvert on this engine.
  const project = {
    ...pick('DOCKER_HOST'),
    COMPOSE_FILE: 'docker-compose.yml:tests/support/docker/health.yml',
    COMPOSE_PROJECT_NAME: `culvert-start-${randomBytes(4).toString('hex')}`,
    EDGE: `10.203.${randomInt(114, 256)}.0/24`,
  }
  let clone: Clone
  let port: number

  beforeAll(() => {
    clone = makeClone()
  })
  afterAll(async () => {
    try {
      await docker('compose', 'down', '--volumes', '--rmi', 'local')
    } finally {
      clone.remove()
    }
  })
  afterEach(async () => {
    expect(await containers()).toEqual([])
    expect(processesIn(clone.path)).toEqual([])
  })

  async function start(env: Record<string, string> = {}): Promise<Command> {
    port = await freePort()
    return runCommand(clone.path, COMMAND, {
      ...project,
      HTTP_PORT: String(port),
      ...env,
    })
  }

  async function docker(...args: string[]): Promise<string> {
    const env = { ...process.env, ...project }
    return (await callDocker(args, { cwd: clone.path, env })).stdout
  }

  async function containers(): Promise<string[]> {
    const label = `label=com.docker.compose.project=${project.COMPOSE_PROJECT_NAME}`
    const names = await docker('ps', '--all', '--filter', label, '--format', '{{.Names}}')
    return names.split('\n').filter(Boolean)
  }

  it('prints the address when the site answers, rejects a second start, and removes its containers on Ctrl-C', async () => {
    await using site = await start()
    const url = `http://127.0.0.1:${port}`
    await site.says(`Culvert runs at ${url}`)
    expect(await containers()).toHaveLength(5)
    await using second = await start()
    expect(await second.exited).toBe(1)
    expect(second.output()).toContain(`culvert: Culvert is already running at ${url}.`)
    expect((await fetch(`${url}/`)).status).toBe(200)
    site.interrupt()
    expect(await site.exited).toBe(0)
    expect(await containers()).toEqual([])
    expect(site.output()).toMatch(/Stopped\.\n$/)
  })

  it('stops during a build before any container runs', async () => {
    await using site = await start()
    await site.says('Building and starting the containers')
    site.interrupt()
    expect(await site.exited).toBe(0)
    expect(site.output()).toMatch(
      /stopped in \d+ s\n(.*\n)*Removing the containers: done in \d+ s\nStopped\.\n$/,
    )
    expect(site.output()).not.toContain('Culvert runs')
  })

  it('says that another command has stopped the containers', async () => {
    await using site = await start()
    await site.says('Culvert runs at')
    await docker('compose', 'down').catch(() => {}) // it may fail, since the site removes its containers at the same time
    expect(await site.exited).toBe(1)
    expect(site.output()).toMatch(
      /culvert: the containers were stopped by another command, like docker compose down\.\n$/,
    )
  })

  it('prints the output of a container that does not start, and removes the others', async () => {
    const nowhere = {
      SENTRY_DSN: 'https://key@o1.ingest.us.sentry.io/2',
      SPOOL_URL: 'file:///nowhere/spool.db',
    }
    await using site = await start(nowhere)
    expect(await site.exited).toBe(1)
    expect(site.output()).toContain('SPOOL_URL: the spool cannot be opened;')
    expect(site.output()).toMatch(/culvert: tunnel\S* did not start \(exit code 1\)\.\n$/)
  })
})

/** Returns those of these settings that are set in this process. */
function pick(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
}
