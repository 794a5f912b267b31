/** Profile `cluster` of the shipped compose file: tunnels that spool on a NATS server with credentials. */

import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runDrill } from '../../bench/drills/runner.ts'
import { Site } from '../../bench/drills/site.ts'
import { NATS_DRILLS } from '../../bench/drills/storage-drills.ts'
import { BRIDGE, type Compose, startCompose } from '../support/docker/compose.ts'
import { errorOf } from '../support/envelopes.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { hasItem } from '../support/sentry/received-request.ts'
import { readCertificate, type Sentry, startSentry } from '../support/sentry/sentry.ts'
import { makeFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const HOST = 'cluster.ingest.sentry.io' // name in the certificate
const DELIVERED_WITHIN = 60_000 // ms

describe('The profile cluster', requires('docker', 'nats'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let stack: Compose
  let dsn: string

  beforeAll(async () => {
    sentry = started.use(await startSentry({ host: BRIDGE, tls: readCertificate() }))
    const folder = started.use(await makeFolder())
    const override = join(folder.path, 'sentry.yml')
    await writeFile(override, `services: { tunnel: { extra_hosts: ["${HOST}:${BRIDGE}"] } }\n`)
    dsn = sentry.dsn(undefined, { host: `${HOST}:${sentry.port}` })
    const env = {
      COMPOSE_FILE: `docker-compose.yml:${override}`,
      CA_FILE: 'tests/fixtures/tls/cert.pem', // the only certificate authority of this Sentry
      COMPOSE_PROFILES: 'cluster',
      SENTRY_DSN: dsn,
      SPOOL_URL: 'nats://nats:4222',
    }
    stack = started.use(await startCompose({ env }))
  })

  afterAll(() => started.disposeAsync())

  const inTunnel = (...args: string[]) => stack.compose('exec', '-T', 'tunnel', ...args)
  const credentials = () => inTunnel('cat', '/run/nats/credentials')

  it('reaches a Sentry whose certificate authority is in CA_FILE, for tunnel and web', async () => {
    expect((await post(stack.url, { body: errorOf(dsn) })).status).toBe(200)
    for (const service of ['tunnel', 'web'])
      expect(await stack.compose('exec', '-T', service, 'printenv', 'CA_FILE')).toBe('/run/secrets/ca-file')
  })

  it('spools on NATS while Sentry is away, and delivers afterwards', async () => {
    await sentry.away()
    const ids = Array.from({ length: 5 }, () => randomBytes(16).toString('hex'))
    for (const event_id of ids)
      expect((await post(stack.url, { body: errorOf(dsn, { event_id }) })).outcome).toBe('spooled')
    expect(await inTunnel('ls', '/spool')).not.toContain('spool.db')
    await sentry.back()
    await until(async () => {
      const delivered = sentry.requests.filter(hasItem('event')).map(({ header }) => header.event_id)
      return ids.every((id) => delivered.includes(id))
    }, DELIVERED_WITHIN)
  })

  it('rejects connections to NATS without credentials, or with wrong ones', async () => {
    expect(await answerOf({})).toBe("-ERR 'Authorization Violation'")
    expect(await answerOf({ user: 'culvert', pass: 'wrong' })).toBe("-ERR 'Authorization Violation'")
    const [user, pass] = (await credentials()).split(':')
    expect(await answerOf({ user, pass })).toBe('PONG')
  })

  it('keeps its random password in files that only NATS and the tunnels read', async () => {
    expect(await credentials()).toMatch(/^culvert:[0-9a-f]{64}$/)
    const modes = await inTunnel('stat', '-c', '%n %a %u:%g', '/run/nats/credentials', '/run/nats/nats.conf')
    expect(modes.split('\n')).toEqual(['/run/nats/credentials 640 0:1000', '/run/nats/nats.conf 640 0:1000'])
    const [, password = ''] = (await credentials()).split(':')
    const all = (await stack.compose('ps', '--all', '--quiet')).split('\n')
    expect(await stack.docker('inspect', ...all)).not.toContain(password)
    expect(await stack.compose('logs')).not.toContain(password)
  })

  it('keeps its password when the containers are created again', async () => {
    const before = await credentials()
    await stack.compose(
      'up',
      '--detach',
      '--force-recreate',
      '--no-deps',
      '--wait',
      'nats-credentials',
      'nats',
      'tunnel',
    )
    expect(await credentials()).toBe(before)
    expect(await answerOf({ user: 'culvert', pass: before.split(':')[1] })).toBe('PONG')
  })

  it('keeps all acknowledged envelopes while NATS is killed, in the short form of the drill', async () => {
    const drill = NATS_DRILLS.find(({ name }) => name === 'nats-killed') ?? expect.unreachable()
    const site = new Site({ stack, sentries: [sentry], dsns: { address: dsn, name: dsn, tls: dsn } })
    const brief = { ...drill, rate: 20, seconds: 1, calmSeconds: 1, signs: [] } // puts wait up to this time: none is rejected
    const { failures, acknowledged } = await runDrill(brief, site)
    expect(failures).toEqual([])
    expect(acknowledged).toBeGreaterThan(0)
  })

  /** Returns the NATS server's answer to a PING after CONNECT with these options. */
  function answerOf(options: { user?: string | undefined; pass?: string | undefined }): Promise<string> {
    const lines = `CONNECT ${JSON.stringify({ verbose: false, ...options })}\r\nPING\r\n`
    return inTunnel(
      'node',
      '-e',
      `const socket = require('node:net').connect(4222, 'nats', () => socket.write(${JSON.stringify(lines)}));
      require('node:readline').createInterface({ input: socket }).on('line', (line) => {
        if (!/^(INFO|PING)/.test(line)) { console.log(line); process.exit() }
      })`,
    )
  }
})
