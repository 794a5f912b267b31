/** How web asks the tunnels, each on its admin port. Pages of the console go through `web/features/console/data-access.ts`, which asks who is there. */

import 'server-only'
import { lookup } from 'node:dns/promises'
import { suppressTracing } from '@sentry/nextjs'
import type { Receipt } from 'tunnel/contract'
import type { Config } from './config.ts'
import { held } from './process-singleton.ts'
import { createAddresses } from './replica-addresses.ts'

export type Door = Pick<Config, 'tunnelAdmins' | 'adminToken'>

const LONGEST = 2_000 // ms

/** The receipt that a visitor's token stands for, from whichever tunnel answered them; `undefined` when none has it. */
export async function findReceipt(door: Door, token: string): Promise<Receipt | undefined> {
  const origins = await originsOf(door)
  const answers = origins.map(async (origin) => {
    const response = await ask(door, `${origin}/receipts/${token}`)
    if (!response.ok) throw new Error(`${origin} answered ${response.status}`)
    return (await response.json()) as Receipt
  })
  return Promise.any(answers).catch(() => undefined)
}

/** Sends one request with the admin token; `signal` in place of the usual 2 s. No report of web tells of it: it is nobody's trace. */
export function ask({ adminToken }: Door, url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${adminToken}`)
  const options: RequestInit = { cache: 'no-store', signal: AbortSignal.timeout(LONGEST), ...init, headers }
  return suppressTracing(() => fetch(url, options))
}

export function originsOf({ tunnelAdmins }: Door): Promise<string[]> {
  const find = held('addresses', () => createAddresses((hostname) => lookup(hostname, { all: true })))
  return find(tunnelAdmins)
}
