/** Sign-ins of this process: open sessions, browsers that have signed in before, and failed attempts. */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type CountedNetwork, networksAround } from 'contract/networks'
import type { Turn } from '../../../lib/password.ts'

export const SESSION_MS = 12 * 60 * 60 * 1000 // 12 h

const MAX_SESSIONS = 1_000
/** Time after which an open session is looked up again. Another web may have closed it. */
const CHECK_MS = 5_000

/** Keeps sessions for longer than this process runs. */
export type SessionKeeper = {
  /** Returns `undefined` when it does not respond. */
  isOpen: (id: string) => Promise<boolean | undefined>
  /** Returns `false` when it does not respond. */
  open: (id: string) => Promise<boolean>
  /** Returns `false` when it does not respond. */
  close: (id: string) => Promise<boolean>
}

/** `isKept`: the keeper knows it, and decides. */
type Session = { ends: number; checked: number; isKept: boolean }

/** `now` in milliseconds since 1970. */
export function createSessions(now: () => number, keeper: SessionKeeper) {
  const sessions = new Map<string, Session>()
  const closed = new Map<string, number>()
  /** Closed sessions of which the keeper does not know yet. */
  const untold = new Set<string>()
  return { open, isOpen, close }

  /** Opens a session and returns its ID. Beyond the bound, the oldest ends. */
  async function open(): Promise<string> {
    const id = randomBytes(32).toString('base64url')
    const isKept = await keeper.open(id)
    put(sessions, id, { ends: now() + SESSION_MS, checked: now(), isKept })
    if (isKept) tellAll()
    return id
  }

  async function isOpen(id: string): Promise<boolean> {
    if (closed.has(id)) return false
    const known = sessions.get(id)
    if (known && known.ends <= now()) return false
    if (known && now() - known.checked < CHECK_MS) return true
    return known && !known.isKept ? offer(id, known) : lookUp(id, known)
  }

  async function offer(id: string, session: Session): Promise<boolean> {
    session.checked = now()
    session.isKept = await keeper.open(id)
    if (closed.has(id)) await tell(id)
    else if (session.isKept) tellAll()
    return !closed.has(id)
  }

  async function lookUp(id: string, known: Session | undefined): Promise<boolean> {
    if (known) known.checked = now()
    const isKept = await keeper.isOpen(id)
    if (closed.has(id)) return false
    if (isKept === undefined) return known !== undefined
    tellAll()
    if (!isKept) sessions.delete(id)
    // Its cookie has begun before, and ends earlier.
    else if (!known) put(sessions, id, { ends: now() + SESSION_MS, checked: now(), isKept })
    return isKept
  }

  async function close(id: string): Promise<void> {
    sessions.delete(id)
    put(closed, id, now())
    await tell(id)
  }

  async function tell(id: string): Promise<void> {
    if (await keeper.close(id)) untold.delete(id)
    else if (untold.size < MAX_SESSIONS) untold.add(id)
  }

  /** Sends the keeper, which has just responded, what it has missed. */
  function tellAll(): void {
    for (const id of untold) void tell(id)
  }
}

/** Adds to a bounded map, which drops its oldest entry. */
function put<Value>(map: Map<string, Value>, key: string, value: Value): void {
  const [oldest] = map.keys()
  if (map.size >= MAX_SESSIONS && oldest !== undefined) map.delete(oldest)
  map.set(key, value)
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
