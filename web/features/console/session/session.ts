/** Cookie of the operator: sealed, with nothing but a session ID. Also the origin check of requests that change something. */

import 'server-only'
import { scryptSync } from 'node:crypto'
import { isOfHost, parseWebOrigin } from 'contract/origins'
import { sealData, unsealData } from 'iron-session'
import { cookies, headers } from 'next/headers'
import type { AdminAccess } from '../../../lib/admin-client.ts'
import type { Config } from '../../../lib/config.ts'
import { processSingleton } from '../../../lib/process-singleton.ts'
import { sharedSessions } from './shared-sessions.ts'
import { createDevices, createSessions, DEVICE_MS, SESSION_MS } from './sign-ins.ts'

const COOKIE = 'culvert_console'
const DEVICE_COOKIE = 'culvert_device'

const sessions = (access: AdminAccess) =>
  processSingleton('sessions', () => createSessions(Date.now, sharedSessions(access)))

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
