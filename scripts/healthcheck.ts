/** Checks whether the site responds. */

import { setTimeout as sleep } from 'node:timers/promises'
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

/**
 * Returns the URL at which people open the site. The development server of Next.js, behind nginx with APP_URL, refuses its scripts to pages of
 * `127.0.0.1`.
 */
export function urlForPeople(config: Pick<Config, 'httpHost' | 'httpPort' | 'app'>): string {
  const url = siteUrl(config)
  return config.app ? url.replace('//127.0.0.1:', '//localhost:') : url
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
