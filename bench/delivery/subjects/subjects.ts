/** Starts the subjects: each path of a report from the page to Sentry in its documented set-up, with two processes behind nginx. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ReplicaStatus } from 'contract/admin-api'
import { freePort } from '../../../scripts/start/free-port.ts'
import { SITE_HOST } from '../../../tests/support/browser/chromium.ts'
import { startNginx } from '../../../tests/support/nginx/nginx.ts'
import { NODE } from '../../../tests/support/node.ts'
import { startProgram } from '../../../tests/support/program.ts'
import { makeFolder } from '../../../tests/support/temporary-folder.ts'
import { startTunnel } from '../../../tests/support/tunnel/tunnel.ts'
import type { Recorder } from '../recorder.ts'
import type { App } from './app.ts'
import type { PageKind } from './pages.ts'
import { startPeerNginx } from './peer-nginx.ts'
import { asDockerStops, type Replica, rerouted, startReplica } from './replica.ts'

export type SubjectName = 'direct' | 'loaderScript' | 'tunnelRoute' | 'handler' | 'culvert'

/** Project of each subject, by which Sentry tells them apart. */
export const PROJECTS: Record<SubjectName, string> = {
  direct: '1',
  tunnelRoute: '2',
  handler: '3',
  culvert: '4',
  loaderScript: '5',
}

export type Subject = {
  name: SubjectName
  project: string
  /** URL of the page for Chromium. */
  url: string
  /** Returns the `tunnel` option of the page's SDK. */
  tunnel(page: PageKind, org: number): string | undefined
  /** Processes that forward its reports. */
  replicas: Replica[]
  /** Returns the number of spooled envelopes; `undefined` while it is unknown. */
  pendingEnvelopes(): Promise<number | undefined>
  [Symbol.asyncDispose](): Promise<void>
}

type Parts = {
  app: App
  /** Port of the app that serves the pages of all subjects but tunnelRoute. */
  appPort: number
  /** Port that serves the pages of tunnelRoute in place of its app. */
  pagesPort?: number
  recorder: Recorder
}

const START_TIMEOUT_MS = 120_000 // several start at once

const START: Record<SubjectName, (parts: Parts) => Promise<Subject>> = {
  direct: (parts) => startDirect('direct', parts),
  loaderScript: (parts) => startDirect('loaderScript', parts),
  tunnelRoute: startTunnelRoute,
  handler: startHandler,
  culvert: startCulvert,
}

export function startSubject(name: SubjectName, parts: Parts): Promise<Subject> {
  return START[name](parts)
}

/** Starts the direct path to the ingest host. */
async function startDirect(name: SubjectName, { appPort }: Parts): Promise<Subject> {
  const nginx = await startPeerNginx({ apps: [appPort] })
  return {
    ...describe(name, nginx.port),
    tunnel: () => undefined,
    replicas: [],
    pendingEnvelopes: async () => 0,
    [Symbol.asyncDispose]: nginx[Symbol.asyncDispose],
  }
}

/** Starts the app server with the rewrite of Next.js that `withSentryConfig` adds. */
async function startTunnelRoute({ app, pagesPort, recorder: { reroute } }: Parts): Promise<Subject> {
  await using starting = new AsyncDisposableStack()
  const { startRewritten } = app
  if (!startRewritten) throw new Error('this app was not built with a rewrite')
  const ports = [await freePort(), await freePort()]
  const replicas = await startReplicas(starting, ports, (port) => startRewritten({ port, reroute }))
  const apart = pagesPort !== undefined && { apps: [pagesPort], tunnels: ports }
  const nginx = starting.use(await startPeerNginx(apart || { apps: ports }))
  const started = starting.move()
  return {
    ...describe('tunnelRoute', nginx.port),
    tunnel: ({ madeByNext }, org) =>
      madeByNext ? undefined : `/monitoring?o=${org}&p=${PROJECTS.tunnelRoute}&r=us`,
    replicas,
    pendingEnvelopes: async () => 0,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Starts Sentry's own handler in separate services. */
async function startHandler({ appPort, recorder }: Parts): Promise<Subject> {
  await using starting = new AsyncDisposableStack()
  const ports = [await freePort(), await freePort()]
  const replicas = await startReplicas(starting, ports, (port) => startHandlerOn(port, recorder))
  const nginx = starting.use(await startPeerNginx({ apps: [appPort], tunnels: ports }))
  const started = starting.move()
  return {
    ...describe('handler', nginx.port),
    tunnel: () => '/monitoring',
    replicas,
    pendingEnvelopes: async () => 0,
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
  await program.line((line) => line === 'listening', START_TIMEOUT_MS)
  return asDockerStops(program)
}

/** Starts Culvert as it ships: nginx, two tunnels, and the spool that they share. */
async function startCulvert({ appPort, recorder }: Parts): Promise<Subject> {
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
    tunnel = await startTunnel({ env, reroute: recorder.reroute, timeout: START_TIMEOUT_MS })
    return tunnel
  })
  const tunnels = ports.map((port) => `127.0.0.1:${port}`)
  const nginx = starting.use(await startNginx({ tunnels, web: `127.0.0.1:${appPort}` }))
  const started = starting.move()
  return {
    ...describe('culvert', nginx.port),
    tunnel: (_, org) => `/monitoring?p=${PROJECTS.culvert}&o=${org}&r=us`,
    replicas,
    async pendingEnvelopes() {
      const answer = await tunnel?.admin('/status')
      const status: ReplicaStatus | undefined = await answer?.json()
      return status?.spool?.envelopes
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Starts processes one after the other: both listen before nginx connects to them. */
async function startReplicas(
  stack: AsyncDisposableStack,
  ports: number[],
  start: (port: number) => ReturnType<Parameters<typeof startReplica>[0]>,
): Promise<Replica[]> {
  const replicas = []
  for (const port of ports) replicas.push(stack.use(await startReplica(() => start(port))))
  return replicas
}

function describe(name: SubjectName, port: number) {
  return {
    name,
    project: PROJECTS[name],
    url: `http://${SITE_HOST}:${port}`,
  }
}
