/** nginx that runs first, while web and the tunnels start, stop, and start at other addresses. */

import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, vi } from 'vitest'
import type { Compose } from '../support/docker/compose.ts'
import { it as base } from '../support/docker/fixtures.ts'
import { perFile } from '../support/lifetime.ts'
import { ROOT } from '../support/node.ts'
import { type Answered, post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'

// The engine assigns a requested address only in a subnet that was chosen by the user.
const SUBNET = `10.202.${randomInt(256)}.0/24`
const SECONDS = { timeout: 60_000, interval: 100 }

const PARTS = [
  {
    service: 'tunnel',
    network: 'ingest',
    ask: (url: string) => post(url, { body: '{}' }),
    away: /"code":"tunnel-away"/,
  },
  {
    service: 'web',
    network: 'front',
    ask: (url: string) => post(url, { path: '/', method: 'GET' }),
    away: /Back in a moment/,
  },
]

const it = base.extend('composeOptions', perFile, async ({ folder }) => {
  const file = join(folder, 'subnet.yml')
  await writeFile(file, `networks: { front: { ipam: { config: [{ subnet: ${SUBNET} }] } } }`)
  return { services: ['nginx'], env: { COMPOSE_FILE: `${join(ROOT, 'docker-compose.yml')}:${file}` } }
})

describe('nginx that starts first', requires('docker'), () => {
  it.for(PARTS)(
    'finds $service within seconds when it starts, stops, and starts at another address',
    async ({ service, network, ask, away }, { stack }) => {
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
