/** Reduces the client address before Sentry, the spool and the inbox get it. */

import { isIPv4 } from 'node:net'
import { expandIPv6 } from '../networks.ts'
import type { Stage } from '../pipeline.ts'

export type AddressMode = 'forward' | 'truncate' | 'omit'

/** Reduces the client address, after the stages that limit its rate. */
export function reduceAddressStage(mode: AddressMode): Stage {
  return function reduceAddress(ctx) {
    if (mode !== 'forward')
      ctx.client = { ...ctx.client, address: mode === 'omit' ? undefined : truncate(ctx.client.address) }
    return undefined
  }
}

/** Returns the network of an address: /24 of IPv4, /48 of IPv6. */
export function truncate(address: string | undefined): string | undefined {
  if (address === undefined) return undefined
  const [, ipv4] = /^(?:::ffff:)?([\d.]+)$/i.exec(address) ?? []
  if (ipv4 !== undefined && isIPv4(ipv4)) return ipv4.replace(/\d+$/, '0')
  return `${expandIPv6(address).slice(0, 3).join(':')}::`
}
