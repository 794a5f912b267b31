/**
 * Sessions that the tunnels keep, so that they outlast web. Web's memory decides while no tunnel responds, and about a session that no tunnel
 * has learned of yet.
 */

import 'server-only'
import { createHash } from 'node:crypto'
import { type AdminAccess, fetchAdmin, replicaOrigins } from '../../../lib/admin-client.ts'
import type { SessionKeeper } from './sign-ins.ts'

const TIMEOUT_MS = 1_000

export function sharedSessions(access: AdminAccess): SessionKeeper {
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
      const init = { method, signal: AbortSignal.timeout(TIMEOUT_MS) }
      const response = await fetchAdmin(access, `${origin}/sessions/${hash}`, init)
      if (!response.ok) throw new Error(`${origin} responded with ${response.status}`)
      return ((await response.json()) as { open: boolean }).open
    })
    const settled = await Promise.allSettled(asked)
    return settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  }
}
