/** Shipped compose file with a recording Sentry, which the tunnels can reach in three ways. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { deriveAdminToken } from 'contract/admin-token'
import { BRIDGE, type Compose, PASSWORD, startCompose } from '../../tests/support/docker/compose.ts'
import { ROOT } from '../../tests/support/node.ts'
import type { Answer } from '../../tests/support/sentry/responses.ts'
import { readCertificate, type Sentry, startSentry } from '../../tests/support/sentry/sentry.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'

/** Stack that a drill needs: a SQLite file, a SQLite file on a disk of 24 MiB, or NATS. */
export type SiteKind = 'file' | 'small-disk' | 'nats'

/** Connection from the tunnels to Sentry: by its address, by a name, or by TLS with a self-signed certificate. */
export type Route = 'address' | 'name' | 'tls'

/** Names that a container on the network of the tunnels answers to. The certificate names the second one. */
const NAMES = { name: 'sentry.drill', tls: 'drill.ingest.sentry.io' } as const
const KEY = '0123456789abcdef0123456789abcdef'
const PROJECTS = { address: '456', name: '457', tls: '458' } as const
const ANSWER_MS = 2_000
const SPOOLING_MS = 3_000

const DEPLOY = join(ROOT, 'deploy')
/** Image whose sqlite3 has the command `.recover`. */
const DEBIAN_IMAGE = process.env.DEBIAN_IMAGE ?? 'debian:13-slim'

/** File with the certificate authority of the recording Sentry. */
export const CA_FILE = join(ROOT, 'tests/fixtures/tls/cert.pem')

type SiteParts = { stack: Compose; sentries: readonly Sentry[]; dsns: Readonly<Record<Route, string>> }

export class Site {
  readonly stack: Compose
  readonly dsns: Readonly<Record<Route, string>>
  /** Number of times that Sentry accepted each event. */
  readonly accepted = new Map<string, number>()
  /** Output of commands that the drill ran. */
  readonly output: string[] = []
  readonly #sentries: readonly Sentry[]

  constructor({ stack, sentries, dsns }: SiteParts) {
    this.stack = stack
    this.dsns = dsns
    this.#sentries = sentries
    for (const sentry of sentries) {
      sentry.allowAborts()
      sentry.allowUnexpected()
    }
    this.answer({})
  }

  /** Sets how Sentry answers. A reply below 300 accepts the event, also when it is late. */
  answer(answer: Answer): void {
    const accepts = typeof answer === 'object' && (answer.status ?? 200) < 300
    for (const sentry of this.#sentries)
      sentry.answer(({ header }) => {
        const id = String(header.event_id)
        if (accepts) this.accepted.set(id, (this.accepted.get(id) ?? 0) + 1)
        return answer
      })
  }

  async takeSentryAway(): Promise<void> {
    await Promise.all(this.#sentries.map((sentry) => sentry.away()))
  }

  /** Takes Sentry away until there is something in the spool to lose. */
  async fillSpool(): Promise<void> {
    await this.takeSentryAway()
    await sleep(SPOOLING_MS)
  }

  async bringSentryBack(): Promise<void> {
    await Promise.all(this.#sentries.map((sentry) => sentry.back()))
  }

  /** Returns the IDs of a service's containers, stopped ones included. */
  async containers(service: string): Promise<string[]> {
    return (await this.stack.compose('ps', '--all', '--quiet', service)).split('\n').filter(Boolean)
  }

  /** Queries the admin port of each tunnel that responds. */
  async askTunnels(path: string): Promise<string[]> {
    const tunnels = await this.stack.containers('tunnel').catch(() => [])
    const texts = await Promise.all(tunnels.map((id) => this.#askTunnel(id, path).catch(() => undefined)))
    return texts.filter((text) => text !== undefined)
  }

  async #askTunnel(id: string, path: string): Promise<string> {
    const address = await this.stack.address(id, 'admin')
    const response = await fetch(`http://${address}:9091${path}`, {
      headers: { authorization: `Bearer ${deriveAdminToken(PASSWORD)}` },
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    return response.text()
  }

  /** Runs JavaScript beside the tunnels, as their user, with a volume of the project at `/volume`. */
  async runOnVolume(volume: string, script: string): Promise<void> {
    const { project } = this.stack
    const mount = ['--volume', `${project}_${volume}:/volume`, '--user', '0']
    await this.stack.docker('run', '--rm', ...mount, `${project}-tunnel:latest`, 'node', '-e', script)
  }

  /** Runs a shell script in the folder of the spool, in a container of Debian. */
  async runShell(script: string): Promise<void> {
    const mounts = ['--volume', `${this.stack.project}_spool:/spool`, '--volume', `${DEPLOY}:/deploy:ro`]
    const options = [...mounts, '--workdir', '/spool', '--entrypoint', 'sh']
    await this.stack.docker('run', '--rm', ...options, DEBIAN_IMAGE, '-c', script)
  }

  /** Name of the container that has the names of Sentry. */
  get forwarder(): string {
    return `${this.stack.project}-sentry`
  }
}

/** Settings and services by kind of site. The deploy drill needs web. */
const KINDS: Record<SiteKind, { services: string[]; env: Record<string, string> }> = {
  file: { services: [], env: {} },
  'small-disk': { services: ['nginx', 'tunnel'], env: {} },
  nats: {
    services: ['nginx', 'tunnel', 'nats'],
    env: { COMPOSE_PROFILES: 'cluster', SPOOL_URL: 'nats://nats:4222' },
  },
}

const SMALL_DISK = `volumes:
  spool: { driver_opts: { type: tmpfs, device: tmpfs, o: "size=24m,uid=1000,gid=1000" } }
`

/** Starts a site. `await using` removes it. */
export async function startSite(kind: SiteKind) {
  await using starting = new AsyncDisposableStack()
  const projects = Object.fromEntries(Object.values(PROJECTS).map((id) => [id, KEY]))
  const plain = starting.use(await startSentry({ host: BRIDGE, projects }))
  const secure = starting.use(await startSentry({ host: BRIDGE, projects, tls: readCertificate() }))
  const dsns = {
    address: plain.dsn(PROJECTS.address),
    name: plain.dsn(PROJECTS.name, { host: `${NAMES.name}:${plain.port}` }),
    tls: secure.dsn(PROJECTS.tls, { host: `${NAMES.tls}:${secure.port}` }),
  }
  const folder = starting.use(await makeFolder())
  const override = join(folder.path, 'drill.yml')
  await writeFile(override, kind === 'small-disk' ? SMALL_DISK : 'services: {}\n')
  const { services, env } = KINDS[kind]
  const settings = {
    COMPOSE_FILE: `docker-compose.yml:${override}`,
    SENTRY_DSN: Object.values(dsns).join(' '),
    TRUSTED_PROXIES: '172.16.0.0/12 192.168.0.0/16', // each visitor of the load has its own address
  }
  const stack = starting.use(await startCompose({ services, env: { ...settings, ...env } }))
  const site = new Site({ stack, sentries: [plain, secure], dsns })
  await startForwarder(site, [plain.port, secure.port])
  starting.defer(async () => void (await stack.docker('rm', '--force', site.forwarder)))
  const started = starting.move()
  return { site, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

/** Starts a container that forwards connections to the ports of the recording Sentry. */
async function startForwarder({ stack, forwarder }: Site, ports: number[]): Promise<void> {
  const pass = `const net = require('node:net')
    for (const port of ${JSON.stringify(ports)})
      net.createServer((here) => {
        const there = net.connect(port, '${BRIDGE}')
        here.pipe(there).pipe(here)
        for (const socket of [here, there]) socket.on('error', () => [here, there].map((each) => each.destroy()))
      }).listen(port)`
  const network = [
    `--network=${stack.project}_out`,
    ...Object.values(NAMES).map((name) => `--network-alias=${name}`),
  ]
  await stack.docker(
    'run',
    '--detach',
    '--name',
    forwarder,
    ...network,
    `${stack.project}-tunnel:latest`,
    'node',
    '-e',
    pass,
  )
}
