/** Network of a visitor, for rate limits. */

import { expandIPv6 } from 'tunnel/networks'

/** Returns the address that nginx has set, reduced to the /64 network for IPv6. */
export function networkOf(headers: Pick<Headers, 'get'>): string {
  const address = headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() ?? ''
  return address.includes(':') ? expandIPv6(address).slice(0, 4).join(':') : address
}
