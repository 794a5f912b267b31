/** Networks that client addresses are counted under. */

import { describe, expect, it } from 'vitest'
import { isPrivate, limitedNetworkOf, networkOf, networksAround } from '../../contract/networks.ts'

describe('networkOf', () => {
  it.each([
    ['an IPv4 address', '81.2.69.1', '81.2.69.1'],
    ['an IPv4 address mapped to IPv6', '::ffff:81.2.69.1', '81.2.69.1'],
    ['an IPv4 address mapped to IPv6 in hexadecimal digits', '::FFFF:5102:4501', '81.2.69.1'],
    ['an IPv4 address behind NAT64', '64:ff9b::81.2.69.1', '81.2.69.1'],
    ['an IPv4 address behind NAT64 in hexadecimal digits', '64:FF9B:0:0:0:0:5102:4501', '81.2.69.1'],
    ['the /64 of an IPv6 address', '2A00:1::7', '2a00:0001:0000:0000'],
    ['the /64 of a whole IPv6 address', '2a00:1:2:0304:5:6:7:8', '2a00:0001:0002:0304'],
    ['nothing for a private address', '10.1.2.3', ''],
    ['nothing for a private address behind NAT64', '64:ff9b::10.1.2.3', ''],
    ['nothing for a link-local address', 'fe80::1', ''],
    ['nothing for a text', 'unknown', ''],
    ['nothing without an address', undefined, ''],
  ])('returns %s', (_, address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})

describe('networksAround', () => {
  const around = (address: string) => networksAround(networkOf(address))

  it('returns the /64, the /56 and the /48 of IPv6 with growing factors', () => {
    expect(around('2a00:1:2:304::1').map(({ factor }) => factor)).toEqual([1, 2, 4])
  })

  it.each([
    ['2a00:1:2:304::9', 3],
    ['2a00:1:2:305::1', 2],
    ['2a00:1:2:4::1', 1],
    ['2a00:1:3:304::1', 0],
  ])('has as many networks in common with %s as both lie in: %i', (other, expected) => {
    const own = new Set(around('2a00:1:2:304::1').map(({ name }) => name))
    expect(around(other).filter(({ name }) => own.has(name))).toHaveLength(expected)
  })

  it('returns those of a mirror apart from those of the senders', () => {
    const [own, mirrors] = ['', 'mirror '].map((word) => networksAround(`${word}2a00:0001:0002:0304`))
    expect(mirrors).toEqual(own?.map(({ name, factor }) => ({ name: `mirror ${name}`, factor })))
  })

  it('returns an IPv4 address alone, and nothing for a private address', () => {
    expect(around('81.2.69.1')).toEqual([{ name: '81.2.69.1', factor: 1 }])
    expect(around('192.168.1.1')).toEqual([])
  })
})

it.each([
  ['81.2.69.1', '81.2.69.1'],
  ['10.1.2.3', '10.1.2.3'],
  ['fd00:0::1', 'fd00::1'],
  ['', 'unknown'],
  [undefined, 'unknown'],
])('limitedNetworkOf returns for %s %s', (address, network) => {
  expect(limitedNetworkOf(address)).toBe(network)
})

it.each([
  '100.64.0.1',
  '127.0.0.1',
  '169.254.1.1',
  '172.31.0.1',
  '::1',
  'fc00::1',
  'febf::1',
  '::ffff:10.0.0.1',
  '64:ff9b::10.0.0.1',
])('isPrivate returns true for %s', (address) => {
  expect(isPrivate(address)).toBe(true)
})
