/** Networks of client addresses. */

import { BlockList, isIP, isIPv4 } from 'node:net'

const PRIVATE =
  /^(10\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|::1$|f[cd]|fe80:)/i

export function isPrivate(address: string): boolean {
  return PRIVATE.test(address)
}

/** Returns the network that an address is counted under: a subscriber has a whole /64 of IPv6. Empty without an address, and for a private one. */
export function networkOf(address: string | undefined): string {
  if (address === undefined || isPrivate(address)) return ''
  return isIPv4(address) ? address : expandIPv6(address).slice(0, 4).join(':')
}

/** Returns the groups of an address. */
export function expandIPv6(address: string): string[] {
  const [head = '', tail] = address.split('::')
  const before = head.split(':').filter(Boolean)
  if (tail === undefined) return before
  const after = tail.split(':').filter(Boolean)
  return [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after]
}

/** Creates a list of addresses and CIDRs. */
export function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

export function contains(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}
