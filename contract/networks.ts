/** Client addresses, and the networks that they are counted under. */

import { BlockList, isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

const PRIVATE = new Set(['private', 'carrierGradeNat', 'loopback', 'linkLocal', 'uniqueLocal'])

/** Network with its share of a limit by client address: 1 for that of one subscriber. */
export type CountedNetwork = { name: string; factor: number }

/** An address with a port, and an IPv6 address in brackets, as proxies write them. */
const WITH_PORT = /^(?:\[([\da-f:.]+)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/i

/**
 * Reads an address, with or without a port, in its shortest spelling. An IPv4 address on a dual-stack socket (`::ffff:192.0.2.1`) is an
 * IPv4 address. `undefined` for another text.
 */
export function parseAddress(text: string): string | undefined {
  return readAddress(text)?.address
}

/** Address in its shortest spelling, and the network that `networkOf` returns for it. */
type ReadAddress = { address: string; network: string }

const MAX_KNOWN = 5_000
const MAX_KNOWN_LENGTH = 64 // the zone of a link-local address may have any length
/** Addresses by their text. A visitor sends several requests, and each request asks for its address and network several times. */
const known = new Map<string, ReadAddress>()

function readAddress(text: string): ReadAddress | undefined {
  const before = known.get(text)
  if (before) return before
  const parsed = parse(text)
  if (!parsed) return undefined
  const read = { address: parsed.toString(), network: nameNetwork(insideNat64(parsed)) }
  if (text.length > MAX_KNOWN_LENGTH) return read
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(Buffer.from(text).toString(), read) // V8's substrings keep the whole header in memory
  return read
}

function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const [, inBrackets, beforePort] = WITH_PORT.exec(text) ?? []
  const address = inBrackets ?? beforePort ?? text
  if (isIP(address) === 0 || (inBrackets !== undefined && isIPv4(address))) return undefined
  return ipaddr.process(address.replace(/%.*/, '')) // without the zone of a link-local address
}

/** Returns the IPv4 address inside of one of NAT64 (64:ff9b::/96, RFC 6052), and any other address unmodified. */
export function withoutNat64(address: string): string {
  if (isIP(address) !== 6) return address
  const inside = insideNat64(ipaddr.IPv6.parse(address))
  return inside instanceof ipaddr.IPv4 ? inside.toString() : address
}

function insideNat64(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  return address.range() === 'rfc6052' ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address
}

/** Reports whether an address is of a private network, which may stand for many visitors. */
export function isPrivate(address: string): boolean {
  return isIP(address) !== 0 && PRIVATE.has(ipaddr.process(withoutNat64(address)).range())
}

/**
 * Returns the smallest network that an address is counted under: an IPv4 address, or a /64 as four groups of four digits. Empty without
 * an address, and for a private one.
 */
export function networkOf(address: string | undefined): string {
  return readAddress(address ?? '')?.network ?? ''
}

function nameNetwork(visitor: ipaddr.IPv4 | ipaddr.IPv6): string {
  if (PRIVATE.has(visitor.range())) return ''
  if (visitor instanceof ipaddr.IPv4) return visitor.toString()
  const groups = visitor.parts.slice(0, 4)
  return groups.map((group) => group.toString(16).padStart(4, '0')).join(':')
}

/** Returns the network of an address for limits that private and unknown addresses have, too. */
export function limitedNetworkOf(address: string | undefined): string {
  return networkOf(address) || (parseAddress(address ?? '') ?? 'unknown')
}

const HEX = '[0-9a-f]{4}'
const SUBSCRIBER_IPV6 = new RegExp(`(?:^| )${HEX}:${HEX}:${HEX}:${HEX}$`)

/**
 * Returns a result of `networkOf` with the /56 and the /48 around it, as beginnings of its name: a home has a /56, a company a /48. They
 * have growing shares, since they may also hold several subscribers. Empty for no network. A word before the network, which gives it shares of
 * its own, stays.
 */
export function networksAround(network: string): CountedNetwork[] {
  if (network === '') return []
  const smallest = { name: network, factor: 1 }
  if (!SUBSCRIBER_IPV6.test(network)) return [smallest]
  return [
    smallest,
    { name: network.slice(0, -'00'.length), factor: 2 },
    { name: network.slice(0, -':0000'.length), factor: 4 },
  ]
}

/** Returns the /48 network of an IPv6 address. */
export function networkAddressOf(address: string): string {
  const groups = ipaddr.IPv6.parse(address).parts.slice(0, 3)
  return `${groups.map((group) => group.toString(16)).join(':')}::`
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

export function contains(list: BlockList, address: string | undefined): boolean {
  const family = isIP(address ?? '')
  return address !== undefined && family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}
