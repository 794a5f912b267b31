/** Checks where the site listens: whether its port is free before the start, and whether it responds afterwards. */

import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SettingName } from '../tunnel/src/config/settings.ts'
import { type Config, UserError } from './environment.ts'

const RESPONSE_TIMEOUT_MS = 5_000
const POLL_MS = 250

/** Returns `host:port` as URLs and nginx write it. */
export function authorityOf(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Returns the URL of the site for a browser on this machine, without a slash at its end. */
export function siteUrl({ httpHost, httpPort }: Pick<Config, 'httpHost' | 'httpPort'>): string {
  const loopback = { '0.0.0.0': '127.0.0.1', '::': '::1' }[httpHost]
  return `http://${authorityOf(loopback ?? httpHost, httpPort)}`
}

/** Returns whether web sends a page through nginx, and a tunnel accepts the SDK's connectivity probe (a `{}` body). */
async function isHealthy(config: Config): Promise<boolean> {
  const page = isOk(`${siteUrl(config)}${config.checkPath}`)
  const probe = isOk(`${siteUrl(config)}${config.tunnelPath}`, { method: 'POST', body: '{}' })
  return (await page) && (await probe)
}

/** Waits until the site is healthy or `signal` aborts. Throws a `UserError` after `timeoutMs`. */
export async function waitUntilHealthy(
  config: Config,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await isHealthy(config))) {
    if (signal.aborted) return
    if (performance.now() > deadline)
      throw new UserError(`${siteUrl(config)} did not answer within ${timeoutMs / 1000} s.`)
    await sleep(POLL_MS, undefined, { signal }).catch(() => {})
  }
}

/** Returns whether a URL responds with 200. */
export async function isOk(url: string, init: RequestInit = {}): Promise<boolean> {
  return (await statusOf(url, init)) === 200
}

/** Returns whether a URL responds with any status. */
export async function isUp(url: string, init: RequestInit = {}): Promise<boolean> {
  return (await statusOf(url, init)) !== undefined
}

async function statusOf(url: string, init: RequestInit): Promise<number | undefined> {
  const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS)
  try {
    const response = await fetch(url, { ...init, signal, redirect: 'manual' })
    await response.arrayBuffer()
    return response.status
  } catch {
    return undefined // it does not listen yet, or closed the connection
  }
}

export const LOOPBACK = '127.0.0.1'

/** Throws a `UserError` when the site cannot listen on its address. */
export async function checkHttpPort({ httpHost, httpPort }: Config): Promise<void> {
  await checkPort(httpHost, httpPort, 'HTTP_PORT')
}

/** Throws a `UserError` when nginx of this machine cannot listen on its addresses. */
export async function checkPorts(config: Config): Promise<void> {
  const { httpPort, tunnelOriginPort } = config
  if (httpPort === tunnelOriginPort)
    throw new UserError(
      `HTTP_PORT and TUNNEL_ORIGIN_PORT are both ${httpPort}; set one of them to another port.`,
    )
  await checkHttpPort(config)
  await checkPort(LOOPBACK, tunnelOriginPort, 'TUNNEL_ORIGIN_PORT')
}

type PortName = Extract<SettingName, `${string}PORT`>

/** Throws a `UserError` when `port` of `host` cannot be opened. `name` is the setting of the port. */
export async function checkPort(host: string, port: number, name: PortName): Promise<void> {
  const server = await listen(host, port).catch((error: NodeJS.ErrnoException) => {
    throw new UserError(describeListenError(error.code, host, port, name))
  })
  await close(server)
}

function describeListenError(code: string | undefined, host: string, port: number, name: PortName): string {
  if (code === 'EADDRINUSE')
    return `port ${port} of ${host} is taken by another program; stop it, or set ${name} to a free port.`
  if (code === 'EACCES')
    return `port ${port} may not be opened by this user; set ${name} to one from 1024 up.`
  return `${name.replace('PORT', 'HOST')}: "${host}" is not an address of this machine (${code}); write 127.0.0.1 or another of its addresses.`
}

/** Listens on an address; port 0 means any free port. */
export async function listen(host: string, port: number): Promise<Server> {
  const server = createServer().listen({ host, port, exclusive: true })
  await once(server, 'listening')
  return server
}

export async function close(server: Server): Promise<void> {
  server.close()
  await once(server, 'close')
}
