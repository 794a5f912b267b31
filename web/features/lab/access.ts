/** Access control of the error lab: single-use passes with rate limits. */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { Allowance } from 'contract/allowance'
import { networkOf } from '../../lib/client-address.ts'
import { type Config, config } from '../../lib/config.ts'
import { processSingleton } from '../../lib/process-singleton.ts'

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

export type PassRejection = 'forged' | 'expired' | 'used' | 'limited'

export type Passes = {
  issue(): string
  /** Uses the pass of a request up. Returns `undefined` when the request is allowed. */
  take(pass: string, network: string): PassRejection | undefined
}

const GOOD_FOR = 10 * 60_000 // ms
const LIMITS = { perAddress: 10, inAll: 60, windowMs: 60_000 }

/** `now` in milliseconds. Used passes are remembered until they expire; `LIMITS` bounds their number. */
export function createPasses(now: () => number): Passes {
  const key = randomBytes(32)
  const used = new Map<string, number>()
  const allowance = new Allowance(LIMITS, now)
  const sign = (text: string) => createHmac('sha256', key).update(text).digest()
  return { issue, take }

  function issue(): string {
    const text = `${now() + GOOD_FOR}.${randomBytes(12).toString('hex')}`
    return `${text}.${sign(text).toString('hex')}`
  }

  function take(pass: string, network: string): PassRejection | undefined {
    const [, text = '', expires = '', signature = ''] =
      /^((\d+)\.[0-9a-f]{24})\.([0-9a-f]{64})$/.exec(pass) ?? []
    if (!text || !timingSafeEqual(Buffer.from(signature, 'hex'), sign(text))) return 'forged'
    if (Number(expires) <= now()) return 'expired'
    if (used.has(text)) return 'used'
    if (!allowance.take(network)) return 'limited'
    forgetExpired()
    used.set(text, Number(expires))
    return undefined
  }

  function forgetExpired(): void {
    for (const [text, expires] of used) if (expires <= now()) used.delete(text)
  }
}
