/** Whose word we take for where a request came from: the sender's address and the request's id. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'
import type { RequestFlag } from '../contract.ts'
import { randomHex } from '../telemetry/random-hex.ts'

export type Client = {
  /** The visitor's address; `undefined` when nobody we believe has told it. */
  address: string | undefined
  requestId: string
  /** Sent again by nginx, after a replica that had got it was lost. */
  isRetry: boolean
  /** What stood out in how it was handed over; for most nothing. */
  flags: readonly RequestFlag[]
}

export type ClientResolver = (incoming: IncomingMessage) => Client

/**
 * Believes `X-Forwarded-For` and `X-Request-Id` only from peers within `networks` (nginx), and from these takes exactly one address:
 * a list would be the browser's own text with ours behind it. Any other peer is the sender itself.
 */
export function createClientResolver(networks: readonly string[]): ClientResolver {
  const trusted = blockList(networks)
  const verdicts = new WeakMap<Socket, boolean>()

  return function resolveClient(incoming) {
    const { socket, headers } = incoming
    const peer = plainAddress(socket.remoteAddress ?? '')
    if (!isTrusted(socket, peer))
      return {
        address: peer || undefined,
        requestId: randomHex(),
        isRetry: false,
        flags: flagsOf(headers, 'peer-unknown', false),
      }
    const told = headers['x-forwarded-for']
    const address = oneAddress(told)
    const isRetry = headers['x-culvert-retry'] !== undefined
    return {
      address,
      requestId: givenRequestId(headers['x-request-id']) ?? randomHex(),
      isRetry,
      flags: flagsOf(headers, addressFlag(told, address), isRetry),
    }
  }

  function isTrusted(socket: Socket, peer: string): boolean {
    const known = verdicts.get(socket)
    if (known !== undefined) return known
    const family = isIP(peer)
    const verdict = family !== 0 && trusted.check(peer, family === 4 ? 'ipv4' : 'ipv6')
    verdicts.set(socket, verdict)
    return verdict
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

/** An IPv4 address of a dual-stack socket is written `::ffff:192.0.2.1`. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

function oneAddress(header: string | string[] | undefined): string | undefined {
  const address = typeof header === 'string' ? plainAddress(header) : ''
  return isIP(address) !== 0 ? address : undefined
}

// RFC 5737 and RFC 3849: for documentation, so that no visitor has one. Who believes such an address believes the sender.
const MADE_UP = /^(192\.0\.2|198\.51\.100|203\.0\.113)\.|^2001:db8:/i

function addressFlag(
  told: string | string[] | undefined,
  address: string | undefined,
): RequestFlag | undefined {
  if (told === undefined) return 'address-missing'
  if (address === undefined) return 'address-list'
  return MADE_UP.test(address) ? 'address-made-up' : undefined
}

const NOTHING: readonly RequestFlag[] = []

function flagsOf(
  { cookie, authorization }: IncomingHttpHeaders,
  about: RequestFlag | undefined,
  isRetry: boolean,
): readonly RequestFlag[] {
  if (!isRetry && about === undefined && cookie === undefined && authorization === undefined) return NOTHING
  const flags: RequestFlag[] = about === undefined ? [] : [about]
  if (isRetry) flags.push('retried')
  if (cookie !== undefined) flags.push('cookie')
  if (authorization !== undefined) flags.push('authorization')
  return flags
}

function givenRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[0-9a-f]{32}$/.test(header) ? header : undefined
}
