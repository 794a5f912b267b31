/** Reduces the client address before Sentry, the spool and the inbox get it. */

import { isIPv4 } from 'node:net'
import { networkAddressOf, parseAddress, withoutNat64 } from 'contract/networks'
import type { Stage } from '../pipeline/pipeline.ts'

export type AddressMode = 'forward' | 'truncate' | 'omit'

/** Reduces the client address, after the stages that limit its rate. */
export function reduceAddressStage(mode: Exclude<AddressMode, 'forward'>): Stage<never, 'client'> {
  return function reduceAddress(ctx) {
    ctx.client = { ...ctx.client, address: mode === 'omit' ? undefined : truncate(ctx.client.address) }
    return undefined
  }
}

/** Returns the network of an address: /24 of IPv4, /48 of IPv6. */
export function truncate(address: string | undefined): string | undefined {
  const given = parseAddress(address ?? '')
  if (given === undefined) return undefined
  const visitor = withoutNat64(given)
  return isIPv4(visitor) ? visitor.replace(/\d+$/, '0') : networkAddressOf(visitor)
}
