/** Session of the operator: its cookie, sealed, with nothing but a session ID, and the origin check of requests that change something. */

import 'server-only'
import { createHash, scryptSync } from 'node:crypto'
import { isOfHost, parseWebOrigin } from 'contract/origins'
import { sealData, unsealData } from 'iron-session'
import { cookies, headers } from 'next/headers'
import { type AdminAccess, fetchAdmin, replicaOrigins } from '../../../lib/admin-client.ts'
import type { Config } from '../../../lib/config.ts'
import { processSingleton } from '../../../lib/process-singleton.ts'
import { createDevices, createSessions, DEVICE_MS, SESSION_MS, type SessionKeeper } from './sign-ins.ts'

const COOKIE = 'culvert_console'
const DEVICE_COOKIE = 'culvert_device'
const SHARED_TIMEOUT_MS = 1_000

const sessions = (access: AdminAccess) =>
  processSingleton('sessions', () => createSessions(Date.now, sharedSessions(access)))

/**
 * Sessions that the tunnels keep, so that they outlast web. Web's memory decides while no tunnel responds, and about a session that no tunnel
 * has learned of yet.
 */
function sharedSessions(access: AdminAccess): SessionKeeper {
  return {
    isOpen: async (id) => {
      const answers = await ask('GET', id)
      return answers.length === 0 ? undefined : answers.some(Boolean)
    },
    open: async (id) => (await ask('PUT', id)).length > 0,
    close: async (id) => (await ask('DELETE', id)).length > 0,
  }

  /** Asks all replicas, since one may hang or use another store by mistake. Returns their responses. */
  async function ask(method: 'GET' | 'PUT' | 'DELETE', id: string): Promise<boolean[]> {
    const hash = createHash('sha256').update(id).digest('base64url')
    const origins = await replicaOrigins(access).catch(() => [])
    const asked = origins.map(async (origin) => {
      const init = { method, signal: AbortSignal.timeout(SHARED_TIMEOUT_MS) }
      const response = await fetchAdmin(access, `${origin}/sessions/${hash}`, init)
      if (!response.ok) throw new Error(`${origin} responded with ${response.status}`)
      return ((await response.json()) as { open: boolean }).open
    })
    const settled = await Promise.allSettled(asked)
    return settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  }
}

export function isSessionOpen(access: AdminAccess, id: string): Promise<boolean> {
  return sessions(access).isOpen(id)
}

/** Returns the ID of the request's session, if it is open. */
export async function currentSession(settings: Config): Promise<string | undefined> {
  const { operatorPassword } = settings
  const seal = (await cookies()).get(COOKIE)?.value
  if (!seal || !operatorPassword) return undefined
  const options = { password: cookieKey(operatorPassword), ttl: SESSION_MS / 1000 }
  const content = await unsealData<{ id?: unknown }>(seal, options).catch(() => undefined)
  const id = content?.id
  return typeof id === 'string' && (await sessions(settings).isOpen(id)) ? id : undefined
}

export async function startSession(access: AdminAccess, operatorPassword: string): Promise<void> {
  const id = await sessions(access).open()
  const seal = await sealData({ id }, { password: cookieKey(operatorPassword), ttl: SESSION_MS / 1000 })
  const jar = await cookies()
  const secure = (await headers()).get('x-forwarded-proto') === 'https'
  jar.set(COOKIE, seal, {
    httpOnly: true,
    sameSite: 'lax', // links to the console from other sites work; actions check the origin
    secure,
    path: '/console',
    maxAge: SESSION_MS / 1000,
  })
  jar.set(DEVICE_COOKIE, devicesOf(operatorPassword).issue(), {
    httpOnly: true,
    sameSite: 'strict',
    secure,
    path: '/console/session',
    maxAge: DEVICE_MS / 1000,
  })
}

/** Returns the id of the browser, if it has signed in before with this password. */
export async function currentDevice(operatorPassword: string): Promise<string | undefined> {
  return devicesOf(operatorPassword).identify((await cookies()).get(DEVICE_COOKIE)?.value)
}

function devicesOf(operatorPassword: string) {
  return createDevices(deriveKey(operatorPassword, 'culvert device key'), Date.now)
}

export async function endSession(settings: Config): Promise<void> {
  const id = await currentSession(settings)
  if (id) await sessions(settings).close(id)
  ;(await cookies()).delete({ name: COOKIE, path: '/console' })
}

function cookieKey(password: string): string {
  return deriveKey(password, 'culvert cookie key')
}

/** Derives a key from the password, so that a new password ends all sessions. Cached, since it is slow on purpose. */
function deriveKey(password: string, purpose: string): string {
  return processSingleton(purpose, () => scryptSync(password, purpose, 32).toString('hex'))
}

/** Reports whether a page of this site sent the request, by the headers that browsers add to every POST. */
export function isSameSite({ headers }: { headers: Pick<Headers, 'get'> }): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = parseWebOrigin(headers.get('origin') ?? '')
  return origin !== undefined && isOfHost(origin, headers.get('host') ?? undefined)
}
