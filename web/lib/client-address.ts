/** Network of a visitor, for rate limits. */

import { limitedNetworkOf } from 'contract/networks'

/** Returns the network of the address that nginx has set. */
export function networkOf(headers: Pick<Headers, 'get'>): string {
  return limitedNetworkOf(headers.get('x-forwarded-for')?.split(',').at(-1)?.trim())
}
