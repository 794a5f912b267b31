/** Network of a visitor, for rate limits. */

/** Returns the address that nginx has set, reduced to the /64 network for IPv6. */
export function networkOf(headers: Pick<Headers, 'get'>): string {
  const address = headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() ?? ''
  return address.includes(':') ? firstHalf(address) : address
}

/** Returns the first 64 bits of an IPv6 address. */
function firstHalf(address: string): string {
  const [head = '', tail = ''] = address.split('::')
  const before = head.split(':').filter(Boolean)
  const after = tail.split(':').filter(Boolean)
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}
