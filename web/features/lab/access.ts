/** Access control of the error lab. */

import { networkOf } from '../../lib/client-address.ts'
import { type Config, config } from '../../lib/config.ts'
import { processSingleton } from '../../lib/process-singleton.ts'
import { createPasses, type PassRejection } from './passes.ts'

const passes = () => processSingleton('lab passes', () => createPasses(Date.now))

export type Asked = { pass?: string; reference?: string }

/** Returns why a request may not trigger an error; `undefined` when it may. */
export function rejectionOf(
  { pass = '', reference = '' }: Asked,
  headers: Pick<Headers, 'get'>,
): PassRejection | 'off' | undefined {
  if (!config().lab) return 'off'
  if (!/^[0-9a-f]{8}$/.test(reference)) return 'forged'
  return passes().take(pass, networkOf(headers))
}

export function issuePass(): string {
  return passes().issue()
}

/** Returns an error that the lab's page finds by its reference. */
export function labError(where: string, reference: string | undefined): Error {
  return new Error(`Thrown on purpose ${where} (lab ${reference})`)
}

/** Reports whether visitors may simulate an outage: in the lab, without a Sentry, and with access to the tunnels. */
export function canSimulateOutage({ lab, sentryHost, adminToken }: Config): boolean {
  return lab && sentryHost === undefined && adminToken !== undefined
}
