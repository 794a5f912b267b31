/** The ways of a report from the page to Sentry, each in its documented best set-up: two processes of all that carries it, behind nginx. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SITE_HOST } from '../../../tests/support/browser/chromium.ts'
import { startNginx } from '../../../tests/support/nginx/nginx.ts'
import { NODE } from '../../../tests/support/node.ts'
import { freePort } from '../../../tests/support/ports.ts'
import { startProgram } from '../../../tests/support/program.ts'
import { makeFolder } from '../../../tests/support/temporary-folder.ts'
import { startTunnel } from '../../../tests/support/tunnel/tunnel.ts'
import type { ReplicaStatus } from '../../../tunnel/src/contract.ts'
import type { Recorder } from '../recorder.ts'
import type { App } from './app.ts'
import type { PageKind } from './pages.ts'
import { startPeerNginx } from './peer-nginx.ts'
import { asDockerStops, type Replica, rerouted, startReplica } from './replica.ts'

export type WayName = 'direct' | 'tunnelRoute' | 'handler' | 'culvert'

/** The project that each way reports to: by it the Sentry tells them apart. */
export const PROJECTS: Record<WayName, string> = {
  direct: '1',
  tunnelRoute: '2',
  handler: '3',
  culvert: '4',
}

export type Way = {
  name: WayName
  project: string
  /** Where its page is, as Chromium knows it, and as others do. */
  url: string
  plainUrl: string
  /** What the SDK of a page is told. */
  tunnel(page: PageKind, org: number): string | undefined
  /** What carries its reports on this side of Sentry. */
  replicas: Replica[]
  /** How many envelopes wait to be delivered later; `undefined` while that cannot be said. */
  waiting(): Promise<number | undefined>
  [Symbol.asyncDispose](): Promise<void>
}

type Parts = {
  app: App
  /** Of the app as others than the rewrite have it: one, for it carries nothing. */
  appPort: number
  recorder: Recorder
}

const STARTS_WITHIN = 120_000 // ms; several start at once

const START: Record<WayName, (parts: Parts) => Promise<Way>> = {
  direct: startDirect,
  tunnelRoute: startTunnelRoute,
  handler: startHandler,
  culvert: startCulvert,
}

export function startWay(name: WayName, parts: Parts): Promise<Way> {
  return START[name](parts)
}

/** Straight to the ingest host. */
async function startDirect({ appPort }: Parts): Promise<Way> {
  const nginx = await startPeerNginx({ apps: [appPort] })
  return {
    ...describe('direct', nginx.port),
    tunnel: () => undefined,
    replicas: [],
    waiting: async () => 0,
    [Symbol.asyncDispose]: nginx[Symbol.asyncDispose],
  }
}

/** The app server passes reports on by a rewrite of Next.js, which `withSentryConfig` makes. */
async function startTunnelRoute({ app, recorder: { reroute } }: Parts): Promise<Way> {
  await using starting = new AsyncDisposableStack()
  const { startRewritten } = app
  if (!startRewritten) throw new Error('this app was not built with a rewrite')
  const ports = [await freePort(), await freePort()]
  const replicas = await startReplicas(starting, ports, (port) => startRewritten({ port, reroute }))
  const nginx = starting.use(await startPeerNginx({ apps: ports }))
  const started = starting.move()
  return {
    ...describe('tunnelRoute', nginx.port),
    tunnel: ({ madeByNext }, org) =>
      madeByNext ? undefined : `/monitoring?o=${org}&p=${PROJECTS.tunnelRoute}&r=us`,
    replicas,
    waiting: async () => 0,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Sentry's own handler in services of their own. */
async function startHandler({ appPort, recorder }: Parts): Promise<Way> {
  await using starting = new AsyncDisposableStack()
  const ports = [await freePort(), await freePort()]
  const replicas = await startReplicas(starting, ports, (port) => startHandlerOn(port, recorder))
  const nginx = starting.use(await startPeerNginx({ apps: [appPort], tunnels: ports }))
  const started = starting.move()
  return {
    ...describe('handler', nginx.port),
    tunnel: () => '/monitoring',
    replicas,
    waiting: async () => 0,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

async function startHandlerOn(port: number, { reroute, dsn }: Recorder) {
  const { args, env } = rerouted(reroute)
  const file = join(import.meta.dirname, '../peers/handler.ts')
  const program = startProgram(
    'handleTunnelRequest',
    NODE,
    [...args, file, String(port), dsn(PROJECTS.handler)],
    env,
  )
  await program.line((line) => line === 'listening', STARTS_WITHIN)
  return asDockerStops(program)
}

/** Culvert as it ships: its nginx, two tunnels, and the spool that they share. */
async function startCulvert({ appPort, recorder }: Parts): Promise<Way> {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const shared = {
    SENTRY_DSN: recorder.dsn(PROJECTS.culvert),
    SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
  }
  const ports = [await freePort(), await freePort()]
  let tunnel: Awaited<ReturnType<typeof startTunnel>> | undefined
  const replicas = await startReplicas(starting, ports, async (port) => {
    const env = { ...shared, PORT: String(port), ADMIN_PORT: String(await freePort()) }
    tunnel = await startTunnel({ env, reroute: recorder.reroute, timeout: STARTS_WITHIN })
    return tunnel
  })
  const tunnels = ports.map((port) => `127.0.0.1:${port}`)
  const nginx = starting.use(await startNginx({ tunnels, web: `127.0.0.1:${appPort}` }))
  const started = starting.move()
  return {
    ...describe('culvert', nginx.port),
    tunnel: (_, org) => `/monitoring?p=${PROJECTS.culvert}&o=${org}&r=us`,
    replicas,
    async waiting() {
      const answer = await tunnel?.admin('/status')
      const status: ReplicaStatus | undefined = await answer?.json()
      return status?.spool?.envelopes
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** One after the other: both are there before nginx asks for them. */
async function startReplicas(
  stack: AsyncDisposableStack,
  ports: number[],
  start: (port: number) => ReturnType<Parameters<typeof startReplica>[0]>,
): Promise<Replica[]> {
  const replicas = []
  for (const port of ports) replicas.push(stack.use(await startReplica(() => start(port))))
  return replicas
}

function describe(name: WayName, port: number) {
  return {
    name,
    project: PROJECTS[name],
    url: `http://${SITE_HOST}:${port}`,
    plainUrl: `http://127.0.0.1:${port}`,
  }
}
