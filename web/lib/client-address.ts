/** Who asks, as far as limits are concerned. */

/** nginx puts one address there, over whatever a visitor wrote. All of an IPv6 customer's network counts as one. */
export function networkOf(headers: Pick<Headers, 'get'>): string {
  const address = headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() ?? ''
  return address.includes(':') ? firstHalf(address) : address
}

/** The first 64 bits, with a `::` among them written out. */
function firstHalf(address: string): string {
  const [head = '', tail = ''] = address.split('::')
  const before = head.split(':').filter(Boolean)
  const after = tail.split(':').filter(Boolean)
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}
