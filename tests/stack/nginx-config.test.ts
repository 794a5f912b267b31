/** Start of nginx: what the service nginx-config renders for it, and web and tunnels that start later, stop, and start at other addresses. */

import { randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, vi } from 'vitest'
import type { Compose } from '../support/docker/compose.ts'
import { callDocker } from '../support/docker/engine.ts'
import { it as base } from '../support/docker/fixtures.ts'
import { perFile } from '../support/lifetime.ts'
import { ROOT } from '../support/node.ts'
import { type Answered, post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { until } from '../support/until.ts'

// The engine assigns a requested address only in a subnet that was chosen by the user.
const SUBNET = `10.202.${randomInt(256)}.0/24`
const SECONDS = { timeout: 60_000, interval: 100 }

const PARTS = [
  {
    service: 'tunnel',
    network: 'ingest',
    ask: (url: string) => post(url, { path: '/first', body: '{}' }),
    away: /"code":"tunnel-away"/,
  },
  {
    service: 'web',
    network: 'front',
    ask: (url: string) => post(url, { path: '/', method: 'GET' }),
    away: /Back in a moment/,
  },
]

const it = base.extend('composeOptions', perFile, ({ folder }) => {
  const file = join(folder, 'subnet.yml')
  writeFileSync(file, `networks: { front: { ipam: { config: [{ subnet: ${SUBNET} }] } } }`)
  const COMPOSE_FILE = `${join(ROOT, 'docker-compose.yml')}:${file}`
  return { services: ['nginx'], env: { COMPOSE_FILE, TUNNEL_PATHS: '/first' } }
})

describe('nginx-config', requires('docker'), () => {
  const composeWith = ({ env }: Compose, TUNNEL_PATHS: string, ...args: string[]) =>
    callDocker(['compose', ...args], { env: { ...env, TUNNEL_PATHS } })
  /** There is no tunnel: nginx itself rejects a post to a tunnel path. */
  const isTunnelPath = async ({ url }: Compose, path: string) => {
    const { text } = await post(url, { path, body: '{}' }).catch(() => ({ text: '' })) // nginx starts again
    return text.includes('"code":"tunnel-away"')
  }
  const startOf = async (stack: Compose) =>
    stack.docker('inspect', '--format', '{{.Id}} {{.State.StartedAt}}', ...(await stack.containers('nginx')))

  it('renders the configuration before nginx starts, and exits', async ({ stack }) => {
    expect(await isTunnelPath(stack, '/first')).toBe(true)
    const state = await stack.compose('ps', '--all', '--format', '{{.State}} {{.ExitCode}}', 'nginx-config')
    expect(state).toBe('exited 0')
  })

  it('renders a changed setting, which the running nginx applies on SIGHUP', async ({ stack }) => {
    const before = await startOf(stack)
    await composeWith(stack, '/second', 'run', '--rm', 'nginx-config')
    await stack.compose('kill', '--signal', 'HUP', 'nginx')
    await until(() => isTunnelPath(stack, '/second'))
    expect(await startOf(stack)).toBe(before)
  })

  it('names the problem with an invalid setting and leaves the configuration unchanged', async ({
    stack,
  }) => {
    const before = await startOf(stack)
    const failed = await composeWith(stack, 'wrong', 'run', '--rm', 'nginx-config').catch((error) => error)
    expect(failed.code).toBe(1)
    expect(failed.message).toMatch(/^culvert: cannot start, 1 problem\(s\):$/m)
    expect(failed.message).toMatch(/^TUNNEL_PATHS: "wrong" is not a path;/m)
    expect(await startOf(stack)).toBe(before)
    await stack.compose('kill', '--signal', 'HUP', 'nginx')
    expect(await isTunnelPath(stack, '/second')).toBe(true)
  })

  it('makes docker compose up restart nginx with a changed setting', async ({ stack }) => {
    await composeWith(stack, '/third', 'up', '--detach', '--wait', 'nginx')
    await until(() => isTunnelPath(stack, '/third'))
  })

  it('keeps everything from starting with a wrong setting of any container', async ({ stack }) => {
    await stack.compose('rm', '--stop', '--force', 'nginx')
    const env = { ...stack.env, OPERATOR_PASSWORD: 'short' }
    await expect(callDocker(['compose', 'up', '--detach'], { env })).rejects.toThrow(
      /nginx-config.* didn't complete successfully: exit 1/,
    )
    expect(await stack.compose('logs', 'nginx-config')).toContain(
      'OPERATOR_PASSWORD: it is too short; write 12 characters or more',
    )
    for (const service of ['nginx', 'tunnel', 'web']) expect(await stack.containers(service)).toEqual([])
  })

  it('warns of misspelt names in .env', async ({ stack, folder }) => {
    const file = join(folder, '.env')
    writeFileSync(file, 'SENTRY_DNS=http://key@sentry.example/1\n')
    const env = { ...stack.env, COMPOSE_ENV_FILES: file }
    const { stderr } = await callDocker(['compose', 'up', 'nginx-config'], { env })
    expect(stderr).toContain('SENTRY_DNS is not a setting and has no effect. Did you mean SENTRY_DSN?')
  })

  it('keeps nginx from starting with an invalid setting', async ({ stack }) => {
    await stack.compose('rm', '--stop', '--force', 'nginx')
    await expect(composeWith(stack, 'wrong', 'up', '--detach', 'nginx')).rejects.toThrow(
      /nginx-config.* didn't complete successfully: exit 1/,
    )
    expect(await stack.containers('nginx')).toEqual([])
  })
})

describe('nginx that starts first', requires('docker'), () => {
  it.for(PARTS)(
    'finds $service within seconds when it starts, stops, and starts at another address',
    async ({ service, network, ask, away }, { stack }) => {
      await stack.up('nginx')
      await answers(() => ask(stack.url), 502, away)

      await stack.up(service)
      await answers(() => ask(stack.url), 200)

      const addresses = await addressesOf(stack, service, network)
      await stack.compose('rm', '--stop', '--force', service)
      await answers(() => ask(stack.url), 502, away)

      await using _squatters = await occupy(stack, network, addresses)
      await stack.up(service)
      expect(await addressesOf(stack, service, network)).not.toEqual(expect.arrayContaining(addresses))
      await answers(() => ask(stack.url), 200)
    },
  )
})

async function answers(ask: () => Promise<Answered>, status: number, words = /.*/): Promise<void> {
  await vi.waitFor(async () => {
    const answer = await ask()
    expect(answer.status).toBe(status)
    expect(answer.text).toMatch(words)
  }, SECONDS)
}

async function addressesOf(stack: Compose, service: string, network: string): Promise<string[]> {
  const containers = await stack.containers(service)
  return Promise.all(containers.map((container) => stack.address(container, network)))
}

/** Occupies addresses with idle containers, so that the engine does not assign them again. */
async function occupy(stack: Compose, network: string, addresses: string[]) {
  await using starting = new AsyncDisposableStack()
  for (const address of addresses) {
    const place = ['--network', `${stack.project}_${network}`, '--ip', address]
    const id = await stack.docker(
      'run',
      '--detach',
      '--rm',
      ...place,
      '--entrypoint',
      'sleep',
      'nginx:1.30',
      '600',
    )
    starting.defer(async () => void (await stack.docker('kill', id)))
  }
  return starting.move()
}
