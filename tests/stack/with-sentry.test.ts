/**
 * Containers of the shipped compose file that deliver to a Sentry: client addresses, which the tunnels trust from nginx and from no other
 * container, and the volume of the spool.
 */

import { randomBytes } from 'node:crypto'
import { describe, expect } from 'vitest'
import type { Compose } from '../support/docker/compose.ts'
import { connecting } from '../support/docker/external-network.ts'
import { it as base } from '../support/docker/fixtures.ts'
import { errorOf } from '../support/envelopes.ts'
import { perFile } from '../support/lifetime.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'

const IMAGE = process.env.NODE_IMAGE || 'node:24-slim'
const PRIVATE = '10.0.0.0/8 172.16.0.0/12 192.168.0.0/16'
const VISITOR = '8.8.4.4'
const FOLDER = '/spool/kept'

const it = base.extend('composeOptions', perFile, ({ sentry }) => ({
  services: ['nginx', 'web', 'tunnel'],
  env: {
    SENTRY_DSN: sentry.dsn(),
    TRUSTED_PROXIES: PRIVATE, // these tests act as the proxy
    SPOOL_URL: `file://${FOLDER}/spool.db`,
    BODY_DIR: `${FOLDER}/bodies`,
  },
}))

describe('The networks of compose', requires('docker'), () => {
  const addressesOn = async (stack: Compose, service: string, network: string) =>
    Promise.all((await stack.containers(service)).map((id) => stack.address(id, network)))

  it('carry the client address from nginx through the tunnel to Sentry', async ({ stack, sentry }) => {
    const body = errorOf(sentry.dsn())
    const headers = { 'X-Forwarded-For': VISITOR }
    expect((await post(stack.url, { body, headers })).status).toBe(200)
    const { headers: sent } = await sentry.next()
    expect(sent['x-forwarded-for']).toBe(VISITOR)
  })

  it('have only nginx and the tunnels on the network that EDGE names', async ({ stack }) => {
    const network = await stack.docker(
      'network',
      'inspect',
      '--format',
      '{{json .}}',
      `${stack.project}_ingest`,
    )
    const { Internal, IPAM, Containers } = JSON.parse(network)
    expect(Internal).toBe(true)
    const [tunnel = ''] = await stack.containers('tunnel')
    const env = await stack.docker('inspect', '--format', '{{json .Config.Env}}', tunnel)
    expect(JSON.parse(env)).toContain(`EDGE=${IPAM.Config[0].Subnet}`)
    const members = [...(await stack.containers('nginx')), ...(await stack.containers('tunnel'))]
    expect(Object.keys(Containers).sort()).toEqual(members.sort())
  })

  it('do not let a container on "front" reach a tunnel', async ({ stack }) => {
    const [nginx = ''] = await addressesOn(stack, 'nginx', 'front')
    const reach = (host: string, port: number) =>
      stack.docker(
        'run',
        '--rm',
        '--network',
        `${stack.project}_front`,
        '--dns-opt',
        'timeout:1', // for the name that no server knows
        '--dns-opt',
        'attempts:1',
        IMAGE,
        'node',
        '-e',
        connecting(host, port),
      )
    expect(await reach(nginx, 8081)).toBe('connected')
    const hosts = ['tunnel', ...(await addressesOn(stack, 'tunnel', 'ingest'))] // the name is unknown there too
    expect(await Promise.all(hosts.map((host) => reach(host, 9090)))).not.toContain('connected')
  })

  it('make the tunnel use the address of web as the client address when web posts a forged one', async ({
    stack,
    sentry,
  }) => {
    const [web] = await addressesOn(stack, 'web', 'admin')
    const [tunnel] = await addressesOn(stack, 'tunnel', 'admin')
    const init = {
      method: 'POST',
      headers: { 'X-Forwarded-For': VISITOR },
      body: String(errorOf(sentry.dsn())),
    }
    const code = `fetch('http://${tunnel}:9090/monitoring', ${JSON.stringify(init)}).then((r) => console.log(r.status))`
    const arrival = sentry.next()
    expect(await stack.script(code)).toBe('200')
    expect((await arrival).headers['x-forwarded-for']).toBe(web)
  })
})

describe('The spool of compose', requires('docker'), () => {
  it('is in the configured folder, as are bodies', async ({ stack }) => {
    const names = await stack.compose('exec', '-T', 'tunnel', 'ls', FOLDER)
    expect(names.split('\n')).toEqual(expect.arrayContaining(['bodies', 'spool.db']))
  })

  it('survives docker compose down, is part of a backup, and is delivered from a restored one', async ({
    stack,
    sentry,
    folder,
  }) => {
    const volume = `${stack.project}_spool`
    const tar = (mount: string, ...args: string[]) => {
      const mounts = ['-v', mount, '-v', `${folder}:/backup`]
      return stack.docker('run', '--rm', ...mounts, IMAGE, 'tar', '-C', '/spool', ...args)
    }
    await sentry.away()
    const id = randomBytes(16).toString('hex')
    const body = errorOf(sentry.dsn(), { event_id: id })
    expect((await post(stack.url, { body })).outcome).toBe('spooled')

    await stack.compose('down')
    await tar(`${volume}:/spool:ro`, '-czf', '/backup/spool.tgz', '.')
    await stack.docker('volume', 'rm', volume)

    await stack.compose('create', 'tunnel')
    await tar(`${volume}:/spool`, '-xzf', '/backup/spool.tgz')
    await sentry.back()
    await stack.up('tunnel')
    const { body: delivered } = await sentry.next(({ header }) => header.event_id === id)
    expect(String(delivered)).toContain(String(body).split('\n').slice(1).join('\n'))
  })
})
