/** Sign-ins of this process: open sessions, browsers that have signed in before, and failed attempts. */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type CountedNetwork, networksAround } from 'contract/networks'
import type { Turn } from '../../../lib/password.ts'

export const SESSION_MS = 12 * 60 * 60 * 1000 // 12 h

const MAX_SESSIONS = 1_000

/** `now` in milliseconds since 1970. */
export function createSessions(now: () => number) {
  const ends = new Map<string, number>()
  const isOpen = (id: string) => (ends.get(id) ?? 0) > now()
  return { open, isOpen, close: (id: string) => void ends.delete(id) }

  /** Opens a session and returns its ID. Beyond the bound, the oldest ends. */
  function open(): string {
    const id = randomBytes(32).toString('base64url')
    const [oldest] = ends.keys()
    if (ends.size >= MAX_SESSIONS && oldest !== undefined) ends.delete(oldest)
    ends.set(id, now() + SESSION_MS)
    return id
  }
}

export const DEVICE_MS = 180 * 24 * 60 * 60 * 1000 // 180 days

const COOKIE = /^([\w-]{22})\.(\d{1,15})\.([\w-]{43})$/

/** `key` has to change with the password. `now` in milliseconds since 1970. */
export function createDevices(key: string, now: () => number) {
  const sign = (id: string, expires: string) => createHmac('sha256', key).update(`${id}.${expires}`).digest()
  return { issue, identify }

  /** Returns the value of a new cookie. */
  function issue(): string {
    const [id, expires] = [randomBytes(16).toString('base64url'), `${now() + DEVICE_MS}`]
    return `${id}.${expires}.${sign(id, expires).toString('base64url')}`
  }

  /** Returns the device's id; `undefined` for a cookie that is forged, expired or absent. */
  function identify(cookie: string | undefined): string | undefined {
    const [, id = '', expires = '', signature = ''] = COOKIE.exec(cookie ?? '') ?? []
    if (!id) return undefined
    const isGenuine = timingSafeEqual(Buffer.from(signature, 'base64url'), sign(id, expires))
    return isGenuine && Number(expires) > now() ? id : undefined
  }
}

/** Counts a known device apart from its network, so that others at the same address do not delay it, until it has too many failures itself. */
export function createSignInThrottle(now: () => number) {
  const [byNetwork, byDevice] = [createThrottle(now), createThrottle(now)]
  return { begin }

  /**
   * Returns the seconds to wait, 0 for an attempt that may be made, its turn among others, and functions to call when the password was right
   * or not checked. `device` is the id of a browser that has signed in before.
   */
  function begin(network: string, device: string | undefined) {
    const own = device === undefined ? undefined : [{ name: device, factor: 1 }]
    if (own && byDevice.take(own) === 0) return attemptOf(byDevice, own, 0, 'first')
    const networks = networksAround(network)
    return attemptOf(byNetwork, networks, byNetwork.take(networks), 'last')
  }

  function attemptOf(throttle: Throttle, counted: CountedNetwork[], wait: number, turn: Turn) {
    return {
      ...{ wait, turn },
      succeed: () => throttle.forgive(counted),
      withdraw: () => throttle.withdraw(counted),
    }
  }
}

const FREE_ATTEMPTS = 5
const MAX_WAIT_MS = 15 * 60 * 1000 // 15 min
const MAX_NETWORKS = 10_000 // networks; beyond, the one without attempts for longest is dropped

type Record = { wrong: number; until: number }

type Throttle = ReturnType<typeof createThrottle>

/** `now` in milliseconds. */
export function createThrottle(now: () => number) {
  const records = new Map<string, Record>()
  return { take, forgive, withdraw }

  /**
   * Returns the seconds to wait before the next attempt. An allowed attempt counts as failed until `forgive`, for each of the networks, of
   * which the wider ones have more attempts before they wait.
   */
  function take(networks: readonly CountedNetwork[]): number {
    const rest = Math.max(...networks.map(({ name }) => records.get(name)?.until ?? 0)) - now()
    if (rest > 0) return Math.ceil(rest / 1000)
    for (const network of networks) countFailure(network)
    return 0
  }

  function countFailure({ name, factor }: CountedNetwork): void {
    const wrong = (records.get(name)?.wrong ?? 0) + 1
    const free = FREE_ATTEMPTS * factor
    const wait = wrong < free ? 0 : Math.min(MAX_WAIT_MS, 1000 * 2 ** (wrong - free))
    records.delete(name)
    const [quietest] = records.keys()
    if (records.size >= MAX_NETWORKS && quietest !== undefined) records.delete(quietest)
    records.set(name, { wrong: Math.min(wrong, 50), until: now() + wait })
  }

  function forgive(networks: readonly CountedNetwork[]): void {
    for (const { name } of networks) records.delete(name)
  }

  /** Takes an attempt back of which the password was not checked. */
  function withdraw(networks: readonly CountedNetwork[]): void {
    for (const { name } of networks) {
      const { wrong } = records.get(name) ?? { wrong: 0 }
      if (wrong > 0) records.set(name, { wrong: wrong - 1, until: 0 })
    }
  }
}
