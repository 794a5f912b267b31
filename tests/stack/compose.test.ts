/** The shipped compose file, unmodified but for the interval of the health checks. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { INBOX_DSN } from '../../contract/dsn.ts'
import type { OverviewSnapshot } from '../../web/features/console/monitor/snapshot.ts'
import { type Compose, PASSWORD } from '../support/docker/compose.ts'
import { callDocker } from '../support/docker/engine.ts'
import { connecting, startOutside } from '../support/docker/external-network.ts'
import { it } from '../support/docker/fixtures.ts'
import { askDoctorOf } from '../support/doctor/doctor.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { capture } from '../support/sdk-captures.ts'
import { lookUntil, signIn } from '../support/web/operator.ts'

const SHOWN_WITHIN = 60_000 // ms: the machine may be busy
const SCALE = ['up', '--detach', '--no-deps', '--no-recreate', '--wait', '--scale']
const NETWORK_NAMES = '{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}'

describe('The containers of compose', requires('docker'), () => {
  it('store the envelope of a real SDK in the inbox unmodified', async ({ stack }) => {
    const { body, dsn = '' } = capture('browser-11.12.0-error-unhandled')
    const sent = Buffer.from(body.toString('latin1').replaceAll(dsn, INBOX_DSN), 'latin1')
    const answer = await post(stack.url, { path: '/monitoring?p=1', body: sent })
    expect(answer.status).toBe(200)
    expect(await keptOf(stack, answer.json)).toEqual(sent)
  })

  it('do not expose the admin port to nginx', async ({ stack }) => {
    const curl = ['exec', '-T', 'nginx', 'curl', '--silent', '--show-error', '--max-time', '3']
    const refused = async (tunnel: string, network: string, words: RegExp) => {
      const url = `http://${await stack.address(tunnel, network)}:9091/livez`
      await expect(stack.compose(...curl, url)).rejects.toThrow(words)
    }
    const onOthers = ['admin', 'out', 'spool']
    const tunnels = await stack.containers('tunnel')
    await Promise.all(
      tunnels.flatMap((tunnel) => [
        refused(tunnel, 'ingest', /Failed to connect|Couldn't connect/),
        ...onOthers.map((network) =>
          refused(tunnel, network, /Failed to connect|Couldn't connect|timed out/),
        ),
      ]),
    )
  })

  it('allow a tunnel, and not web, to reach the internet', requires('netns'), async ({ stack }) => {
    await using somewhere = await startOutside()
    const reach = (service: string) =>
      stack.compose('exec', '-T', service, 'node', '-e', connecting(somewhere.host, somewhere.port))
    expect(await reach('tunnel')).toBe('connected')
    expect(await reach('web')).not.toBe('connected')
  })

  it('allow only the tunnels to reach the internet, and only nginx to be reached', async ({ stack }) => {
    const outward = async (service: string) => {
      const [container = ''] = await stack.containers(service)
      const each = await stack.docker('inspect', '--format', NETWORK_NAMES, container)
      const internal = await stack.docker(
        'network',
        'inspect',
        '--format',
        '{{.Internal}}',
        ...each.split(' '),
      )
      return internal.split('\n').includes('false')
    }
    expect(await outward('tunnel')).toBe(true)
    expect(await outward('web')).toBe(false)

    const published = (await stack.compose('ps', '--format', '{{.Service}} {{.Publishers}}')).split('\n')
    expect(published.filter((line) => line.includes('127.0.0.1'))).toEqual([expect.stringMatching(/^nginx /)])
  })

  it('run without privileges, and can write to their volumes only', async ({ stack }) => {
    for (const service of ['nginx', 'tunnel', 'web']) {
      const status = await stack.compose('exec', '-T', service, 'cat', '/proc/1/status')
      expect(status).toMatch(/^CapBnd:\t0{16}$/m)
      expect(status).toMatch(/^NoNewPrivs:\t1$/m)
      expect(status).not.toMatch(/^Uid:\t0\t/m)
      await expect(stack.compose('exec', '-T', service, 'touch', '/somewhere')).rejects.toThrow(/Read-only/)
    }
  })

  it('have limits and a restart policy, and write to volumes on disk', async ({ stack }) => {
    for (const service of ['nginx', 'tunnel', 'web']) {
      const [container = ''] = await stack.containers(service)
      const { HostConfig, Mounts, Config, State } = JSON.parse(
        await stack.docker('inspect', '--format', '{{json .}}', container),
      )
      expect(HostConfig).toMatchObject({
        Memory: expect.toSatisfy((bytes) => bytes > 0),
        NanoCpus: 1e9,
        PidsLimit: 256,
        RestartPolicy: { Name: 'unless-stopped' },
        LogConfig: { Type: 'json-file', Config: { 'max-file': '5', 'max-size': '10m' } },
      })
      expect(HostConfig.Tmpfs ?? {}).toEqual({})
      const writable = Mounts.filter(({ RW }: { RW: boolean }) => RW)
      expect(writable.map(({ Type }: { Type: string }) => Type)).toEqual(service === 'web' ? [] : ['volume'])
      expect(Config.StopTimeout).toBe(20)
      expect(State.Health.Status).toBe('healthy')
    }
  })

  it('pass the checks of the doctor, from outside and from inside', async ({ stack, folder }) => {
    const tunnels = await stack.containers('tunnel')
    const inside = await Promise.all(tunnels.map((tunnel) => stack.address(tunnel, 'admin')))
    const args = [stack.url, '--json', ...inside.flatMap((address) => ['--admin', `http://${address}:9091`])]
    const passwordFile = join(folder, 'password')
    await writeFile(passwordFile, PASSWORD)
    const { checks } = await askDoctorOf(stack.env, ...args, '--password-file', passwordFile)
    expect(checks.filter(({ result }) => result !== 'pass')).toEqual([])
    const changed = { ...stack.env, STORM_LIMIT: '7 enforce', ADDRESS_RATE: '9' }
    const after = await askDoctorOf(changed, ...args, '--password-file', passwordFile)
    expect(after.checks.filter(({ result }) => result === 'fail')).toEqual([
      expect.objectContaining({
        name: 'settings',
        message:
          'tunnel runs with other values of ADDRESS_RATE, STORM_LIMIT. nginx runs with another configuration than these settings give.',
      }),
    ])
  })

  it('appear in the console when they are added, and disappear when they are killed', async ({ stack }) => {
    const answering = ({ replicas }: OverviewSnapshot) =>
      replicas.filter(({ state }) => state === 'responding')
    const { cookie } = await signIn(stack.url, { password: PASSWORD })
    const shows = (many: number) =>
      lookUntil(stack.url, cookie, (overview) => answering(overview).length === many, SHOWN_WITHIN)
    const before = await shows(2)
    await stack.compose(...SCALE, 'tunnel=4', 'tunnel')
    const more = await shows(4)
    const added = answering(more).filter(
      ({ origin }) => !answering(before).some((old) => old.origin === origin),
    )
    expect(added).toHaveLength(2)
    const changes = more.changes.map(({ text }) => text)
    for (const { name } of added) expect(changes).toContain(`${name} started responding`)

    const [victim = ''] = await stack.containers('tunnel')
    await stack.docker('kill', victim)
    const fewer = await shows(3)
    const gone = fewer.replicas.filter(({ state }) => state !== 'responding')
    expect(gone).toHaveLength(1)
    expect(fewer.changes.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(new RegExp(`^${gone[0]?.name} (stopped|does not respond)$`)),
    )
  })

  it('exit with 0 when they are stopped', async ({ stack }) => {
    const running = (await stack.compose('ps', '--quiet')).split('\n')
    await stack.compose('stop')
    const codes = await stack.docker('inspect', '--format', '{{.State.ExitCode}}', ...running)
    expect(codes.split('\n')).toEqual(running.map(() => '0'))
  })
})

describe('The compose files', requires('docker'), () => {
  it.each([
    [],
    ['-f', 'deploy/tls.yml'],
    ['-f', 'deploy/tunnel-origin.yml'],
    ['-f', 'deploy/two-nginx.yml'],
    ['-f', 'deploy/bugsink.yml'],
  ])('start without warnings with %j', async (...more) => {
    const args = [
      'compose',
      '--env-file',
      '/dev/null',
      '--profile',
      '*',
      '-f',
      'docker-compose.yml',
      ...more,
      'config',
      '--quiet',
    ]
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, TLS_FOLDER: '/tls' }
    expect(await callDocker(args, { env })).toEqual({
      stdout: '',
      stderr: '',
    })
  })
})

/** Returns the envelope in the inbox that belongs to this response. */
async function keptOf(stack: Compose, answer: unknown): Promise<Buffer> {
  const { id } = answer as { id: string }
  const entry = (await stack.inbox()).find(({ event_id: eventId }) => eventId === id)
  return stack.kept(entry?.id ?? '')
}
