/** Whether the site answers, all the way through. */

import type { Clock } from './clock.ts'
import type { Config } from './environment.ts'
import { UserError } from './user-error.ts'

export type Site = {
  /** As a browser is given it, without a slash at its end. */
  address: string
  /** The path browsers post to. */
  tunnelPath: string
}

const ANSWER_TIMEOUT = 5 * 1000 // 5 s
const LOOK_AGAIN = 250 // ms

/** `host:port` as URLs and nginx write it. */
export function authorityOf(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Where someone on this machine reaches a site that listens there. */
function addressOf(host: string, port: number): string {
  const everywhere = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host]
  return `http://${authorityOf(everywhere ?? host, port)}`
}

export function siteOf({ httpHost, httpPort, tunnelPath }: Config): Site {
  return { address: addressOf(httpHost, httpPort), tunnelPath }
}

/** Whether a page comes through nginx from web, and the SDK's own connectivity probe (a `{}` body) from a tunnel. */
export async function answers({ address, tunnelPath }: Site): Promise<boolean> {
  const page = isOk(`${address}/`, {})
  const probe = isOk(`${address}${tunnelPath}`, { method: 'POST', body: '{}' })
  return (await page) && (await probe)
}

/** Whether this URL answers 200. */
export async function isOk(url: string, init: RequestInit = {}): Promise<boolean> {
  return (await statusOf(url, init)) === 200
}

/** Whether this URL answers at all. */
export async function isUp(url: string): Promise<boolean> {
  return (await statusOf(url, {})) !== undefined
}

async function statusOf(url: string, init: RequestInit): Promise<number | undefined> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT)
  try {
    const answer = await fetch(url, { ...init, signal, redirect: 'manual' })
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return undefined // it does not listen yet, or broke off
  }
}

/** Waits until it answers; throws a `Refusal` when that has not come within `timeout` ms. */
export async function untilAnswers(
  site: Site,
  timeout: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const deadline = clock.now() + timeout
  while (!(await answers(site))) {
    if (signal.aborted) return
    if (clock.now() > deadline)
      throw new UserError(`${site.address} did not answer within ${timeout / 1000} s.`)
    await clock.wait(LOOK_AGAIN, signal)
  }
}
