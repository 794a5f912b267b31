/** The processes that make up the site on one machine, in the order they are started. */

import { join } from 'node:path'
import { WEB_SERVER } from './build-web.ts'
import type { Config } from './environment.ts'
import { authorityOf, isOk, isUp } from './healthcheck.ts'
import type { Addresses } from './nginx.ts'
import { lifeline } from './parent-watch.ts'
import { freePorts } from './ports.ts'
import type { Part } from './supervisor.ts'

const LOOPBACK = '127.0.0.1'

/** The ports of one run: the same over restarts of a process. */
export type Ports = { tunnels: { port: number; adminPort: number }[]; web: number; inner: number }

/** Two tunnels, so that one may die. */
export async function choosePorts({ httpPort }: Pick<Config, 'httpPort'>): Promise<Ports> {
  const free = (await freePorts(7)).filter((port) => port !== httpPort) // nginx is about to listen there
  const [first = 0, firstAdmin = 0, second = 0, secondAdmin = 0, web = 0, inner = 0] = free
  const tunnels = [
    { port: first, adminPort: firstAdmin },
    { port: second, adminPort: secondAdmin },
  ]
  return { tunnels, web, inner }
}

/** What nginx has to know. */
export function addressesOf({ httpHost, httpPort }: Config, ports: Ports): Addresses {
  return {
    listen: authorityOf(httpHost, httpPort),
    innerListen: authorityOf(LOOPBACK, ports.inner),
    tunnels: ports.tunnels.map(({ port }) => authorityOf(LOOPBACK, port)),
    web: authorityOf(LOOPBACK, ports.web),
  }
}

export function partsOf(
  config: Config,
  ports: Ports,
  nginx: { program: string; configFile: string },
): Part[] {
  const before = lifeline()
  const { root, stateFolder, env, httpHost, httpPort } = config
  const inbox = env.INBOX_FILE || join(stateFolder, 'inbox.db')
  const node = (script: string) => [...before, process.execPath, join(root, script)]
  const tunnels = ports.tunnels.map(
    ({ port, adminPort }, index): Part => ({
      name: `tunnel-${index + 1}`,
      command: node('tunnel/src/main.ts'),
      cwd: root,
      env: {
        ...env,
        HOST: LOOPBACK,
        PORT: `${port}`,
        ADMIN_HOST: LOOPBACK,
        ADMIN_PORT: `${adminPort}`,
        INBOX_FILE: inbox,
      },
      isReady: () => isOk(`http://${LOOPBACK}:${adminPort}/readyz`),
      stopSignal: 'SIGTERM',
    }),
  )
  const web: Part = {
    name: 'web',
    command: node(WEB_SERVER),
    cwd: root,
    env: {
      ...env,
      NODE_ENV: 'production',
      HOSTNAME: LOOPBACK,
      PORT: `${ports.web}`,
      TUNNEL_ADMIN: ports.tunnels.map(({ adminPort }) => authorityOf(LOOPBACK, adminPort)).join(),
      TUNNEL_ORIGIN: `http://${authorityOf(LOOPBACK, ports.inner)}`,
    },
    isReady: () => isOk(`http://${LOOPBACK}:${ports.web}/healthz`),
    stopSignal: 'SIGTERM',
  }
  const front: Part = {
    name: 'nginx',
    command: [...before, nginx.program, '-e', 'stderr', '-c', nginx.configFile],
    cwd: root,
    env,
    isReady: () => isUp(`http://${authorityOf(httpHost, httpPort)}/`),
    stopSignal: 'SIGQUIT', // takes no new connection and finishes what it has; SIGTERM would cut it off
  }
  return [...tunnels, web, front]
}
