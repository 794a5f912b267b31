/** Runs the site as processes of this machine: two tunnels, web and nginx. */

import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { hostOf } from 'contract/addresses'
import { buildSdk } from './build/sdk.ts'
import { buildWeb, WEB_SERVER } from './build-web.ts'
import { type Config, UserError } from './environment.ts'
import { authorityOf, isOk, isUp, waitUntilHealthy } from './healthcheck.ts'
import { type Addresses, findNginx, followLog, renderNginx } from './nginx.ts'
import type { Session } from './output.ts'
import { freePort } from './start/free-port.ts'
import { checkPorts, LOOPBACK } from './start/ports.ts'
import { parentDeathPrefix, type Service, type Supervised, supervise, within } from './supervisor.ts'

const HEALTHY_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 15_000 // for all services together
const STOP_INTERVAL_MS = 3_000 // between stopping one service and the next

/** Ports of one run; a process that is restarted keeps its port. */
type Ports = { tunnels: { port: number; adminPort: number }[]; web: number }

/** Runs the site until `stopped`. Stops every process that it started, also after an error. */
export async function runProcesses(given: Config, { output, stopped, onUp }: Session): Promise<void> {
  const config = withAllowedHosts(given)
  await checkPorts(config)
  await checkAppHost(config)
  const program = await findNginx(config, stopped)
  const ports = await choosePorts(config)
  const files = renderNginx(config, addressesOf(config, ports))
  await buildSdk(config.root, stopped)
  await buildWeb(config.root, config.env, stopped)
  if (stopped.aborted) return
  const services = [
    ...ports.tunnels.map((each, index) => tunnelService(config, each, `tunnel-${index + 1}`)),
    webService(config, ports),
    nginxService(config, [program, '-p', files.folder, '-e', 'stderr', '-c', files.config]),
  ]
  const adminUrls = ports.tunnels.map(({ adminPort }) => adminUrl(adminPort))
  const stopFollowing = followLog(files.appLog, (line) => output.log('nginx', line, 'stdout'))
  try {
    await runServices(config, services, adminUrls, {
      output,
      stopped,
      onUp,
      waitUntilUp: () => waitUntilHealthy(config, HEALTHY_TIMEOUT_MS, stopped),
    })
  } finally {
    stopFollowing()
  }
}

/** Allows only names that no other site can have, unless ALLOWED_HOSTS is set: every page of the internet can connect to this machine. */
function withAllowedHosts(config: Config): Config {
  return { ...config, env: { ...config.env, ALLOWED_HOSTS: config.env.ALLOWED_HOSTS || 'localhost' } }
}

type ServiceSession = Session & {
  /** Waits for a further condition after each service is ready. */
  waitUntilUp?: () => Promise<void>
}

/** Runs services until `stopped`, with the admin ports in a file for the doctor. */
export async function runServices(
  { stateFolder }: Config,
  services: readonly Service[],
  adminUrls: readonly string[],
  { output, stopped, onUp, waitUntilUp }: ServiceSession,
): Promise<void> {
  const adminPortsFile = join(stateFolder, 'admin-ports')
  const running = services.map((service) => supervise(service, output, stopped))
  try {
    const aborted = once(stopped, 'abort')
    const ready = Promise.all(running.map((each) => each.ready))
    await Promise.race([ready.then(waitUntilUp), aborted])
    writeFileSync(adminPortsFile, adminUrls.map((url) => `${url}\n`).join(''))
    if (!stopped.aborted) onUp()
    await aborted
  } finally {
    rmSync(adminPortsFile, { force: true })
    await stopAll(running)
  }
}

/** Throws a `UserError` when the name of the app's host is unknown: nginx would not start. */
async function checkAppHost({ app }: Config): Promise<void> {
  if (!app) return
  await lookup(hostOf(app).replace(/[[\]]/g, '')).catch(() => {
    throw new UserError(`APP_URL: the host of http://${app} is unknown; correct it, or write its IP address.`)
  })
}

function adminUrl(port: number): string {
  return `http://${authorityOf(LOOPBACK, port)}`
}

/** Stops services in the reverse order of their start: nginx accepts no new requests before the tunnels end. */
async function stopAll(running: Supervised[]): Promise<void> {
  const deadline = performance.now() + STOP_TIMEOUT_MS
  const stops: Promise<void>[] = []
  for (const each of running.toReversed()) {
    const stop = each.stop(deadline - performance.now())
    stops.push(stop)
    await within(STOP_INTERVAL_MS, stop)
  }
  await Promise.all(stops)
}

async function choosePorts({ httpPort, tunnelOriginPort }: Config): Promise<Ports> {
  const ofNginx = [httpPort, tunnelOriginPort] // it listens there later
  const drawn = await Promise.all(Array.from({ length: 7 }, freePort))
  const free = drawn.filter((port) => !ofNginx.includes(port))
  const [first = 0, firstAdmin = 0, second = 0, secondAdmin = 0, web = 0] = free
  const tunnels = [
    { port: first, adminPort: firstAdmin },
    { port: second, adminPort: secondAdmin },
  ]
  return { tunnels, web }
}

function addressesOf({ httpHost, httpPort, tunnelOriginPort }: Config, ports: Ports): Addresses {
  return {
    listen: authorityOf(httpHost, httpPort),
    innerListen: authorityOf(LOOPBACK, tunnelOriginPort),
    tunnels: ports.tunnels.map(({ port }) => authorityOf(LOOPBACK, port)),
    web: authorityOf(LOOPBACK, ports.web),
  }
}

/** Heap of each thread in MiB, as in `Dockerfile.tunnel` and `Dockerfile.web`. Without it, the tunnel takes several times as much memory. */
export const TUNNEL_HEAP = ['--max-old-space-size=128', '--max-semi-space-size=4']
/** Option of V8, as in `Dockerfile.tunnel`, which explains it. */
export const TUNNEL_GC = '--heap-growing-percent=100'
export const WEB_HEAP = ['--max-old-space-size=192', '--max-semi-space-size=1']
/** Options of glibc, as in `Dockerfile.tunnel`, which explains them. */
export const TUNNEL_MALLOC = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
}

export function tunnelService(
  { root, env }: Config,
  { port, adminPort }: Ports['tunnels'][number],
  name: string,
): Service {
  return {
    name,
    command: nodeCommand(root, 'tunnel/src/main.ts', [...TUNNEL_HEAP, TUNNEL_GC]),
    cwd: root,
    env: {
      ...TUNNEL_MALLOC,
      NODE_COMPILE_CACHE: join(root, 'tunnel/.compiled'), // from the first module on: Node's compiler of TypeScript takes 14 MB
      ...env,
      HOST: LOOPBACK,
      PORT: `${port}`,
      ADMIN_PORT: `${LOOPBACK}:${adminPort}`,
    },
    isReady: () => isOk(`${adminUrl(adminPort)}/readyz`),
    stopSignal: 'SIGTERM',
  }
}

function webService({ root, env, tunnelOriginPort }: Config, { web, tunnels }: Ports): Service {
  return {
    name: 'web',
    command: nodeCommand(root, WEB_SERVER, WEB_HEAP),
    cwd: root,
    env: {
      ...env,
      NODE_ENV: 'production',
      HOSTNAME: LOOPBACK,
      PORT: `${web}`,
      // The server of Next.js changes its folder.
      ...(env.CA_FILE && { CA_FILE: resolve(root, env.CA_FILE) }),
      ...(env.SOURCE_MAPS && { SOURCE_MAPS: resolve(root, env.SOURCE_MAPS) }),
      TUNNEL_ADMIN: tunnels.map(({ adminPort }) => authorityOf(LOOPBACK, adminPort)).join(),
      TUNNEL_ORIGIN: `http://${authorityOf(LOOPBACK, tunnelOriginPort)}`,
    },
    isReady: () => isOk(`http://${LOOPBACK}:${web}/healthz`),
    stopSignal: 'SIGTERM',
  }
}

function nginxService({ root, env, httpHost, httpPort, checkPath }: Config, command: string[]): Service {
  return {
    name: 'nginx',
    command: [...parentDeathPrefix(), ...command],
    cwd: root,
    env,
    isReady: () => isUp(`http://${authorityOf(httpHost, httpPort)}${checkPath}`),
    stopSignal: 'SIGQUIT', // nginx finishes pending requests; SIGTERM would cut them off
  }
}

function nodeCommand(root: string, script: string, heap: readonly string[]): string[] {
  return [...parentDeathPrefix(), process.execPath, ...heap, join(root, script)]
}
