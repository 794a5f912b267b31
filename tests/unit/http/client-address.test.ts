/** Client address, request ID and flags of a request, from trusted peers. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createClientResolver } from '../../../tunnel/src/http/client-address.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

const EDGE = ['10.0.0.0/8', '192.0.2.1', 'fd00::/8']
const PROXIES = ['203.0.113.0/24', '10.0.0.0/8']
const ID = '0123456789abcdef0123456789abcdef'

describe('The client address', () => {
  it.each([
    ['in a network of EDGE', '10.1.2.3'],
    ['that is an address of EDGE', '192.0.2.1'],
    ['in EDGE as an IPv4-mapped IPv6 address', '::ffff:10.1.2.3'],
    ['in EDGE as an IPv6 address', 'fd00::5'],
  ])('is X-Forwarded-For of a peer %s', (_, peer) => {
    expect(meet(peer, { 'x-forwarded-for': '203.0.113.7' }).address).toBe('203.0.113.7')
  })

  it.each([
    ['IPv4', '203.0.113.7', '203.0.113.7'],
    ['IPv6', '2001:db8::7', '2001:db8::7'],
    ['IPv4 mapped to IPv6, and is returned as IPv4', '::ffff:203.0.113.7', '203.0.113.7'],
    ['IPv4 mapped to IPv6 in capitals', '::FFFF:203.0.113.7', '203.0.113.7'],
    ['IPv4 with a port', '203.0.113.7:50123', '203.0.113.7'],
    ['IPv6 in brackets', '[2001:db8::7]', '2001:db8::7'],
    ['IPv6 in brackets with a port', '[2001:DB8:0::7]:50123', '2001:db8::7'],
    ['IPv4 mapped to IPv6, with a port', '[::ffff:203.0.113.7]:50123', '203.0.113.7'],
    ['an address and a comma', '203.0.113.7,', '203.0.113.7'],
  ])('is accepted as %s', (_, told, address) => {
    expect(meet('10.1.2.3', { 'x-forwarded-for': told }).address).toBe(address)
  })

  it.each([
    ['another peer', '203.0.113.9', '203.0.113.9'],
    ['a neighbour of an address of EDGE', '192.0.2.2', '192.0.2.2'],
    ['an IPv4-mapped peer', '::ffff:203.0.113.9', '203.0.113.9'],
    ['an IPv6 peer', '2001:db8::9', '2001:db8::9'],
    ['loopback when EDGE does not contain it', '127.0.0.1', '127.0.0.1'],
  ])('is the peer address of %s, also with X-Forwarded-For', (_, peer, address) => {
    expect(meet(peer, { 'x-forwarded-for': '203.0.113.7' }).address).toBe(address)
  })

  it.each([
    ['a name at the end of a list', '9.9.9.9, localhost'],
    ['a port that is no number', '203.0.113.7:http'],
    ['IPv4 in brackets', '[203.0.113.7]'],
    ['a bracket that is not closed', '[2001:db8::7'],
    ['a name', 'localhost'],
    ['unknown', 'unknown'],
    ['a space', ' '],
    ['an empty value', ''],
    ['octal digits', '0203.0.113.7'],
    ['too few parts', '203.0.113'],
  ])('is unknown when the edge sends as X-Forwarded-For %s', (_, said) => {
    expect(meet('10.1.2.3', { 'x-forwarded-for': said }).address).toBeUndefined()
  })

  it.each([
    ['the last of a list', '198.51.100.1, 9.9.9.9', '9.9.9.9'],
    ['the last of a list without spaces', '198.51.100.1,9.9.9.9', '9.9.9.9'],
    ['the last before trusted proxies', '198.51.100.1, 9.9.9.9, 203.0.113.7, 10.0.0.1', '9.9.9.9'],
    ['the last of a list with ports', '198.51.100.1:1, 9.9.9.9:2, 203.0.113.7:3, [fd00::5]', 'fd00::5'],
    ['the last before trusted proxies with ports', '198.51.100.1:1, 9.9.9.9:2, 203.0.113.7:3', '9.9.9.9'],
    ['the last of a list with empty elements', '198.51.100.1,, 9.9.9.9 , ,', '9.9.9.9'],
    ['the last before a trusted proxy, not one before it', '9.9.9.9, 8.8.8.8, ::ffff:10.0.0.1', '8.8.8.8'],
    ['the first when all of them are trusted proxies', '10.0.0.2, 203.0.113.7', '10.0.0.2'],
  ])('is %s', (_, said, address) => {
    expect(meet('10.1.2.3', { 'x-forwarded-for': said }).address).toBe(address)
  })

  it('is unknown when the edge sends no X-Forwarded-For', () => {
    expect(meet('10.1.2.3', {}).address).toBeUndefined()
  })

  it.each(['x-real-ip', 'cf-connecting-ip', 'forwarded', 'true-client-ip', 'x-sentry-forwarded-for'])(
    'is not read from %s',
    (name) => {
      expect(meet('10.1.2.3', { [name]: '203.0.113.7' }).address).toBeUndefined()
    },
  )

  it('is resolved for each connection separately', () => {
    const edge = createClientResolver(EDGE, [])
    const headers = { 'x-forwarded-for': '203.0.113.7' }
    expect(edge(incoming('10.1.2.3', headers)).address).toBe('203.0.113.7')
    expect(edge(incoming('203.0.113.9', headers)).address).toBe('203.0.113.9')
  })

  it('is the peer address when EDGE is empty', () => {
    expect(
      createClientResolver([], [])(incoming('127.0.0.1', { 'x-forwarded-for': '203.0.113.7' })).address,
    ).toBe('127.0.0.1')
  })
})

describe('The request ID', () => {
  it('is the ID that the edge sent', () => {
    expect(meet('10.1.2.3', { 'x-request-id': ID }).requestId).toBe(ID)
  })

  it.each([
    ['of a peer outside EDGE', '203.0.113.9', ID],
    ['that is too short', '10.1.2.3', 'abc'],
    ['that is too long', '10.1.2.3', `${ID}0`],
    ['that is not hexadecimal', '10.1.2.3', 'g'.repeat(32)],
    ['with a newline', '10.1.2.3', `${ID}\n`],
  ])('is new, in place of one %s', (_, peer, given) => {
    const { requestId } = meet(peer, { 'x-request-id': given })
    expect(requestId).toMatch(/^[0-9a-f]{32}$/)
    expect(requestId).not.toBe(given)
  })
})

describe('Posts without an address', () => {
  const warnings = async (headers: Record<string, string>) => {
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
    for (let i = 0; i < 3; i++) await post(tunnel.url, { body: errorOf(sentry.dsn()), headers })
    return (await (await tunnel.admin('/status')).json()).warnings
  }

  it('of servers are no fault of a proxy', async () => {
    expect(await warnings({ 'user-agent': 'sentry.java/8.63.0' })).toEqual([])
  })

  it('of browsers are one', async () => {
    expect(await warnings({ origin: 'http://127.0.0.1', 'sec-fetch-site': 'same-origin' })).toEqual([
      expect.stringContaining('no X-Forwarded-For'),
    ])
  })
})

describe('The flags of a request', () => {
  it('are none without an address from the inner listener of nginx, which no other peer can claim to be', () => {
    const inner = { 'x-culvert-inner': '1' }
    expect(meet('10.1.2.3', inner)).toMatchObject({ flags: [], isPeerTrusted: true })
    expect(meet('10.1.2.3', inner).address).toBeUndefined()
    expect(meet('9.9.9.9', inner).address).toBe('9.9.9.9')
  })

  const told = { 'x-forwarded-for': '9.9.9.9' }

  it('are empty when nginx sends one address and no credentials', () => {
    expect(meet('10.1.2.3', told).flags).toEqual([])
  })

  it.each([
    ['cookie', { ...told, cookie: 'session=1' }],
    ['authorization', { ...told, authorization: 'Bearer 1' }],
    ['address-missing', {}],
    ['address-list', { 'x-forwarded-for': '198.51.100.1, 9.9.9.9' }],
    ['address-made-up', { 'x-forwarded-for': '203.0.113.7' }],
    ['address-made-up', { 'x-forwarded-for': '2001:DB8::7' }],
  ])('are: %s', (remark, headers) => {
    expect(meet('10.1.2.3', headers)).toMatchObject({ flags: [remark], isPeerTrusted: true })
  })

  it('contain retried for a retry of nginx, and not when another peer sends the header', () => {
    const again = { ...told, 'x-culvert-retry': '1' }
    expect(meet('10.1.2.3', again)).toMatchObject({ isRetry: true, flags: ['retried'] })
    expect(meet('10.1.2.3', told)).toMatchObject({ isRetry: false, flags: [] })
    expect(meet('9.9.9.9', again)).toMatchObject({ isRetry: false, flags: ['peer-unknown'] })
  })

  it('contain peer-unknown for X-Forwarded-For of a peer outside EDGE', () => {
    expect(meet('9.9.9.9', { ...told, cookie: 'session=1' }).flags).toEqual(['peer-unknown', 'cookie'])
  })

  it.each([
    ['with credentials', { cookie: 'session=1' }],
    ['with X-Forwarded-For', told],
  ])('are those of a peer that is not trusted for a client outside EDGE %s', (_, headers) => {
    expect(meet('9.9.9.9', headers)).toMatchObject({ isPeerTrusted: false })
  })

  it('are empty for a client that connects to the tunnel itself', () => {
    expect(meet('9.9.9.9', {}).flags).toEqual([])
  })

  it('are empty for a list that trusted proxies have written', () => {
    expect(meet('10.1.2.3', { 'x-forwarded-for': '9.9.9.9, 203.0.113.7' }).flags).toEqual([])
  })
})

function meet(peer: string, headers: IncomingHttpHeaders) {
  return createClientResolver(EDGE, PROXIES)(incoming(peer, headers))
}

function incoming(remoteAddress: string, headers: IncomingHttpHeaders): IncomingMessage {
  return { socket: { remoteAddress }, headers } as IncomingMessage
}
