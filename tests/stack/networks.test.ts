/** Client addresses that the tunnels of the shipped compose file trust: from nginx, and from no other container. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BRIDGE, type Compose, startCompose } from '../support/docker/compose.ts'
import { connecting } from '../support/docker/external-network.ts'
import { errorOf } from '../support/envelopes.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { type Sentry, startSentry } from '../support/sentry/sentry.ts'

const IMAGE = process.env.NODE_IMAGE || 'node:24-slim'
const PRIVATE = '10.0.0.0/8 172.16.0.0/12 192.168.0.0/16'
const VISITOR = '8.8.4.4'

describe('The networks of compose', requires('docker'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let stack: Compose

  beforeAll(async () => {
    sentry = started.use(await startSentry({ host: BRIDGE }))
    const env = { SENTRY_DSN: sentry.dsn(), TRUSTED_PROXIES: PRIVATE } // these tests act as the proxy
    stack = started.use(await startCompose({ services: ['nginx', 'web', 'tunnel'], env }))
  })

  afterAll(() => started.disposeAsync())

  const addressesOn = async (service: string, network: string) =>
    Promise.all((await stack.containers(service)).map((id) => stack.address(id, network)))

  it('carry the client address from nginx through the tunnel to Sentry', async () => {
    const body = errorOf(sentry.dsn())
    const headers = { 'X-Forwarded-For': VISITOR }
    expect((await post(stack.url, { body, headers })).status).toBe(200)
    const { headers: sent } = await sentry.next()
    expect(sent['x-forwarded-for']).toBe(VISITOR)
  })

  it('have only nginx and the tunnels on the network that EDGE names', async () => {
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

  it('do not let a container on "front" reach a tunnel', async () => {
    const [nginx = ''] = await addressesOn('nginx', 'front')
    const reach = (host: string, port: number) =>
      stack.docker(
        'run',
        '--rm',
        '--network',
        `${stack.project}_front`,
        IMAGE,
        'node',
        '-e',
        connecting(host, port),
      )
    expect(await reach(nginx, 8081)).toBe('connected')
    const hosts = ['tunnel', ...(await addressesOn('tunnel', 'ingest'))] // the name is unknown there too
    expect(await Promise.all(hosts.map((host) => reach(host, 9090)))).not.toContain('connected')
  })

  it('make the tunnel use the address of web as the client address when web posts a forged one', async () => {
    const [web] = await addressesOn('web', 'admin')
    const [tunnel] = await addressesOn('tunnel', 'admin')
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
