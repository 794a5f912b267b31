/** Whose word we take for where a request came from: the sender's address and the request's id. */

import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'

export type Caller = {
  /** The visitor's address; `undefined` when nobody we believe has told it. */
  address: string | undefined
  requestId: string
}

export type Edge = (incoming: IncomingMessage) => Caller

/**
 * Believes `X-Forwarded-For` and `X-Request-Id` only from peers within `networks` (nginx), and from these takes exactly one address:
 * a list would be the browser's own text with ours behind it. Any other peer is the sender itself.
 */
export function createEdge(networks: readonly string[]): Edge {
  const trusted = blockList(networks)
  const verdicts = new WeakMap<Socket, boolean>()

  return function meet(incoming) {
    const { socket, headers } = incoming
    const peer = plainAddress(socket.remoteAddress ?? '')
    if (!isTrusted(socket, peer)) return { address: peer || undefined, requestId: newRequestId() }
    return {
      address: oneAddress(headers['x-forwarded-for']),
      requestId: givenRequestId(headers['x-request-id']) ?? newRequestId(),
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

function givenRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[0-9a-f]{32}$/.test(header) ? header : undefined
}

function newRequestId(): string {
  return randomUUID().replaceAll('-', '')
}
