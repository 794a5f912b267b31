/** Client address and request ID, from trusted proxies only. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { BlockList, Socket } from 'node:net'
import type { RequestFlag } from 'contract/admin-api'
import { blockList, contains, parseAddress } from 'contract/networks'
import { randomHex } from '../observe/random-hex.ts'
import type { Client } from '../pipeline/pipeline.ts'

export type ResolvedClient = Client & {
  /** Anomalies of the request; for most requests none. */
  flags: readonly RequestFlag[]
  isPeerTrusted: boolean
}

export type ClientResolver = (incoming: IncomingMessage) => ResolvedClient

/**
 * Trusts `X-Forwarded-For` and `X-Request-Id` only from peers in `edge`. Of a list it takes the last address that is not in `proxies`, as
 * nginx does with `real_ip_recursive`: the addresses before it may be text of the browser. Any other peer is the client itself.
 */
export function createClientResolver(edge: readonly string[], proxies: readonly string[]): ClientResolver {
  const trusted = blockList(edge)
  const trustedInList = blockList(proxies)
  const cache = new WeakMap<Socket, boolean>()

  return function resolveClient({ socket, headers }) {
    const peer = parseAddress(socket.remoteAddress ?? '')
    if (!isTrusted(socket, peer)) {
      const flags = flagsOf(headers, headers['x-forwarded-for'] !== undefined && 'peer-unknown')
      return { address: peer, requestId: randomHex(), isRetry: false, flags, isPeerTrusted: false }
    }
    // nginx marks requests of its inner listener: they come from servers, whose address nobody needs.
    const isFromServer = headers['x-culvert-inner'] !== undefined
    const { address, flag } = isFromServer
      ? NO_ADDRESS
      : readForwardedFor(headers['x-forwarded-for'], trustedInList)
    const requestId = validRequestId(headers['x-request-id']) ?? randomHex()
    const isRetry = headers['x-culvert-retry'] !== undefined
    const flags = flagsOf(headers, flag, isRetry && 'retried')
    return { address, requestId, isRetry, flags, isPeerTrusted: true }
  }

  function isTrusted(socket: Socket, peer: string | undefined): boolean {
    let result = cache.get(socket)
    if (result === undefined) {
      result = contains(trusted, peer)
      cache.set(socket, result)
    }
    return result
  }
}

const NO_FLAGS: readonly RequestFlag[] = []
const NO_ADDRESS: { address?: string; flag?: RequestFlag } = {}

// RFC 5737 and RFC 3849 reserve these for documentation: the address was forged, and a proxy in front has trusted it.
const RESERVED = /^(192\.0\.2|198\.51\.100|203\.0\.113)\.|^2001:db8:/i

/**
 * Reads the client address from a list of addresses, each with or without a port. `address-list` marks other addresses before it, which no
 * trusted proxy has set, or a value that is no address.
 */
function readForwardedFor(
  header: string | string[] | undefined,
  proxies: BlockList,
): { address?: string; flag?: RequestFlag } {
  if (header === undefined) return { flag: 'address-missing' }
  const elements = String(header)
    .split(',')
    .map((element) => element.trim())
  const addresses = elements.filter(Boolean).map(parseAddress) // RFC 9110, section 5.6.1: empty elements are ignored
  // Each check of a list creates native objects, which cost more than the rest of this function.
  const last = addresses.length === 1 ? 0 : addresses.findLastIndex((each) => !contains(proxies, each))
  const address = addresses[Math.max(0, last)]
  if (address === undefined) return { flag: 'address-list' }
  if (last > 0) return { address, flag: 'address-list' }
  return RESERVED.test(address) ? { address, flag: 'address-made-up' } : { address }
}

function flagsOf(
  { cookie, authorization }: IncomingHttpHeaders,
  found?: RequestFlag | false,
  retried?: RequestFlag | false,
): readonly RequestFlag[] {
  if (!found && !retried && cookie === undefined && authorization === undefined) return NO_FLAGS
  const flags = [found, retried].filter((flag) => flag !== undefined && flag !== false)
  if (cookie !== undefined) flags.push('cookie')
  if (authorization !== undefined) flags.push('authorization')
  return flags
}

function validRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[0-9a-f]{32}$/.test(header) ? header : undefined
}
