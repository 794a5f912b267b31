/** Single-use passes for the error lab, with rate limits. */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { Allowance } from 'contract/allowance'

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
