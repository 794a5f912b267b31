/** Client address and request ID, from trusted proxies only. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'
import type { RequestFlag } from '../contract.ts'
import type { Client } from '../pipeline.ts'
import { randomHex } from '../telemetry/random-hex.ts'

export type ResolvedClient = Client & {
  /** Anomalies of the request; for most requests none. */
  flags: readonly RequestFlag[]
}

export type ClientResolver = (incoming: IncomingMessage) => ResolvedClient

/**
 * Trusts `X-Forwarded-For` and `X-Request-Id` only from peers in `networks` (nginx), and only exactly one address: a list would begin
 * with text of the browser. Any other peer is the client itself.
 */
export function createClientResolver(networks: readonly string[]): ClientResolver {
  const trusted = blockList(networks)
  const cache = new WeakMap<Socket, boolean>()

  return function resolveClient({ socket, headers }) {
    const peer = plainAddress(socket.remoteAddress ?? '')
    if (!isTrusted(socket, peer)) {
      const flags = flagsOf(headers, 'peer-unknown')
      return { address: peer || undefined, requestId: randomHex(), isRetry: false, flags }
    }
    const forwardedFor = headers['x-forwarded-for']
    const address = oneAddress(forwardedFor)
    const requestId = validRequestId(headers['x-request-id']) ?? randomHex()
    const isRetry = headers['x-culvert-retry'] !== undefined
    const flags = flagsOf(headers, addressFlag(forwardedFor, address), isRetry && 'retried')
    return { address, requestId, isRetry, flags }
  }

  function isTrusted(socket: Socket, peer: string): boolean {
    let result = cache.get(socket)
    if (result === undefined) {
      const family = isIP(peer)
      result = family !== 0 && trusted.check(peer, family === 4 ? 'ipv4' : 'ipv6')
      cache.set(socket, result)
    }
    return result
  }
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

/** Removes the prefix of an IPv4 address on a dual-stack socket (`::ffff:192.0.2.1`). */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

function oneAddress(header: string | string[] | undefined): string | undefined {
  const address = typeof header === 'string' ? plainAddress(header) : ''
  return isIP(address) !== 0 ? address : undefined
}

// RFC 5737 and RFC 3849 reserve these for documentation: the address was forged, and whoever is in front has trusted it.
const RESERVED = /^(192\.0\.2|198\.51\.100|203\.0\.113)\.|^2001:db8:/i

function addressFlag(
  forwardedFor: string | string[] | undefined,
  address: string | undefined,
): RequestFlag | undefined {
  if (forwardedFor === undefined) return 'address-missing'
  if (address === undefined) return 'address-list'
  return RESERVED.test(address) ? 'address-made-up' : undefined
}

function flagsOf(
  { cookie, authorization }: IncomingHttpHeaders,
  ...found: (RequestFlag | false | undefined)[]
): readonly RequestFlag[] {
  const flags = found.filter((flag) => flag !== undefined && flag !== false)
  if (cookie !== undefined) flags.push('cookie')
  if (authorization !== undefined) flags.push('authorization')
  return flags
}

function validRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[0-9a-f]{32}$/.test(header) ? header : undefined
}
