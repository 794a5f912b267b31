/** Client of the tunnels' admin ports. The console uses it through `features/console/data-access`, which requires a session. */

import 'server-only'
import { lookup } from 'node:dns/promises'
import { suppressTracing } from '@sentry/nextjs'
import type { Receipt } from 'contract/admin-api'
import type { Config } from './config.ts'
import { processSingleton } from './process-singleton.ts'
import { createAddresses } from './replica-addresses.ts'

export type AdminAccess = Pick<Config, 'tunnelAdmins' | 'adminToken'>

const TIMEOUT_MS = 2_000

/** Asks all replicas for the receipt of a token; `undefined` when none has it. */
export async function findReceipt(access: AdminAccess, token: string): Promise<Receipt | undefined> {
  const origins = await replicaOrigins(access)
  const responses = origins.map(async (origin) => {
    const response = await fetchAdmin(access, `${origin}/receipts/${token}`)
    if (!response.ok) throw new Error(`${origin} responded with ${response.status}`)
    return (await response.json()) as Receipt
  })
  return Promise.any(responses).catch(() => undefined)
}

/** Sends a request with the admin token and, unless `init` has a signal, a timeout of 2 s. It leaves no span in web's own traces. */
export function fetchAdmin(
  { adminToken }: AdminAccess,
  url: string,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${adminToken}`)
  const options: RequestInit = {
    cache: 'no-store',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...init,
    headers,
  }
  return suppressTracing(() => fetch(url, options))
}

export function replicaOrigins({ tunnelAdmins }: AdminAccess): Promise<string[]> {
  const find = processSingleton('addresses', () => createAddresses((name) => lookup(name, { all: true })))
  return find(tunnelAdmins)
}
