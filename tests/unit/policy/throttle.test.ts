/** Rate limits by client address, and the order in which they remove items. */

import { beforeEach, describe, expect, it } from 'vitest'
import { Throttle, type ThrottleSettings } from '../../../tunnel/src/policy/throttle.ts'
import { envelopeWith, typesOf } from '../../support/read-envelope.ts'

const VISITOR = '203.0.113.7'
const SETTINGS: ThrottleSettings = {
  addressRate: 1,
  addressBurst: 100,
  addressBytes: 0,
}

/** Item types from the least to the most important; those in one row are removed together. */
const ORDER = [
  ['replay_event', 'replay_recording', 'replay_video'],
  ['profile', 'profile_chunk'],
  ['transaction', 'span'],
  ['log', 'trace_metric', 'statsd', 'raw_security'],
  ['session', 'sessions'],
  ['event', 'feedback', 'user_report', 'check_in'],
]

describe('Throttle', () => {
  let time: number
  let throttle: Throttle

  const set = (settings: Partial<ThrottleSettings>) => {
    throttle = new Throttle({ ...SETTINGS, ...settings }, () => time)
  }

  beforeEach(() => {
    time = 5_000
    set({})
  })

  const shed = (types: string[] = ['event'], address: string | undefined = VISITOR, bytes = 100) =>
    typesOf(throttle.throttle(throttle.charge(address, bytes), envelopeWith(...types)))

  /** Posts errors until the bucket has `left` of 100. */
  const drainTo = (left: number) => {
    for (let i = 0; i < 100 - left; i++) shed()
  }

  it('leaves a reserved share of the bytes to other bodies', () => {
    set({ addressRate: 0, addressBytes: 1_000 })
    const charge = (bytes: number, reserved?: number) => throttle.charge(VISITOR, bytes, reserved)
    expect(charge(8_500, 0.2)).toBeCloseTo(0.15)
    expect(charge(1, 0.2)).toBe(-1)
    expect(charge(1)).toBeGreaterThan(0)
  })

  it('removes nothing while the bucket is more than half full', () => {
    for (let i = 0; i < 50; i++) expect(shed(ORDER.flat())).toEqual([])
  })

  it.each([
    [50, []],
    [49, ORDER.slice(0, 1)],
    [39, ORDER.slice(0, 2)],
    [29, ORDER.slice(0, 3)],
    [19, ORDER.slice(0, 4)],
    [9, ORDER.slice(0, 5)],
    [0, ORDER.slice(0, 5)],
  ])(
    'removes replays, profiles, transactions, logs and sessions in this order: with %i of 100 left, %j',
    (left, gone) => {
      drainTo(left + 1)
      expect(shed(ORDER.flat())).toEqual(gone.flat())
    },
  )

  it('removes errors, feedback and check-ins only when the bucket is empty', () => {
    drainTo(0)
    for (const type of ORDER.flat()) expect(shed([type])).toEqual([type])
  })

  it('removes dependants together with their item', () => {
    drainTo(20)
    expect(shed(['transaction', 'attachment', 'session'])).toEqual(['transaction', 'attachment'])
  })

  it('refills the bucket over time, up to its size', () => {
    drainTo(0)
    expect(shed()).toEqual(['event'])
    time += 1_000
    expect(shed()).toEqual([])
    expect(shed()).toEqual(['event'])
    time += 1_000_000
    for (let i = 0; i < 100; i++) expect(shed()).toEqual([])
    expect(shed()).toEqual(['event'])
  })

  it('keeps a bucket for each address', () => {
    drainTo(0)
    expect(shed(['event'], '203.0.113.8')).toEqual([])
    expect(shed()).toEqual(['event'])
  })

  it('counts an IPv6 /64 as one address', () => {
    set({ addressBurst: 1 })
    expect(shed(['event'], '2001:db8:1:2::1')).toEqual([])
    expect(shed(['event'], '2001:db8:1:2:ffff::9')).toEqual(['event'])
    expect(shed(['event'], '2001:db8:1:2:a:b:c:d')).toEqual(['event'])
    expect(shed(['event'], '2001:db8:1:3::1')).toEqual([])
    expect(shed(['event'], '2001:db8::1')).toEqual([])
    expect(shed(['event'], '2001:db8:0:0:1::')).toEqual(['event'])
  })

  it('lets an IPv6 /56 send twice as much as a /64, and a /48 four times as much', () => {
    set({ addressBurst: 10 })
    const sendFrom = (address: (n: string) => string) =>
      Array.from({ length: 100 }, (_, n) => shed(['event'], address(n.toString(16)))).filter(
        ({ length }) => length === 0,
      ).length
    expect(sendFrom((n) => `2001:db8:1:1::${n}`)).toBe(10)
    expect(sendFrom((n) => `2001:db8:2:${n}::1`)).toBe(20)
    expect(sendFrom((n) => `2001:db8:3:${n}00::1`)).toBe(40)
    expect(shed(['event'], '2001:db8:4::1')).toEqual([])
  })

  it('remembers at most 50,000 addresses, and forgets those seen longest ago', () => {
    set({ addressBurst: 1 })
    const address = (i: number) => `${200 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.1`
    const visit = (i: number) => throttle.charge(address(i), 100)
    for (let i = 0; i < 50_000; i++) visit(i)
    expect(throttle.addresses()).toBe(50_000)
    expect(shed(['event'], address(0))).toEqual(['event']) // seen again just now
    for (let i = 50_000; i < 60_000; i++) visit(i)
    expect(throttle.addresses()).toBeLessThanOrEqual(50_000)
    expect(shed(['event'], address(0))).toEqual(['event'])
    expect(shed(['event'], address(1))).toEqual([])
  })

  it.each([
    ...'10.1.2.3 127.0.0.1 172.16.0.1 172.31.255.1'.split(' '),
    ...'192.168.1.1 169.254.1.1 ::1 fd00::1 fe80::1'.split(' '),
  ])('does not limit the private address %s', (address) => {
    set({ addressBurst: 1 })
    for (let i = 0; i < 5; i++) expect(shed(['event'], address)).toEqual([])
    expect(throttle.addresses()).toBe(0)
  })

  it.each(['172.15.0.1', '172.32.0.1', '11.0.0.1', '192.169.0.1', '2001:db8::1', '8.8.8.8'])(
    'limits the public address %s',
    (address) => {
      set({ addressBurst: 1 })
      expect([shed(['event'], address), shed(['event'], address)]).toEqual([[], ['event']])
    },
  )

  it('does not limit requests without a client address', () => {
    set({ addressBurst: 1 })
    for (let i = 0; i < 5; i++)
      expect(typesOf(throttle.throttle(throttle.charge(undefined, 1), envelopeWith('event')))).toEqual([])
  })

  it('does not limit addresses when their rates are 0', () => {
    set({ addressRate: 0, addressBytes: 0, addressBurst: 1 })
    for (let i = 0; i < 5; i++) expect(shed(['replay_event'])).toEqual([])
    expect(throttle.addresses()).toBe(0)
  })

  it('limits the bytes of an address, with a burst of 10 s', () => {
    set({ addressBytes: 1_000 })
    expect(shed(['event'], VISITOR, 10_000)).toEqual([])
    expect(shed(['event'], VISITOR, 1)).toEqual(['event'])
    expect(shed(['event'], '203.0.113.8', 1)).toEqual([])
    time += 1_000
    expect(shed(['event'], VISITOR, 1)).toEqual([])
  })

  it('limits bytes when ADDRESS_RATE is 0', () => {
    set({ addressRate: 0, addressBytes: 1_000 })
    expect(shed(['event'], VISITOR, 15_000)).toEqual([])
    expect(shed(['event'], VISITOR, 1)).toEqual(['event'])
  })

  it('accepts one envelope beyond the byte limit, and subtracts the excess from later ones', () => {
    set({ addressBytes: 1_000 })
    expect(shed(['event'], VISITOR, 15_000)).toEqual([])
    time += 5_000
    expect(shed(['event'], VISITOR, 1)).toEqual(['event'])
    time += 1_000
    expect(shed(['event'], VISITOR, 1)).toEqual([])
  })

  it('charges the decompressed bytes, and lets an address exceed its limit by one body', () => {
    set({ addressRate: 0, addressBytes: 1_000 })
    expect(throttle.charge(VISITOR, 100)).toBeGreaterThan(0)
    expect(throttle.chargeDecompressed(VISITOR, 15_000, 10_000)).toBe(true)
    expect(throttle.charge(VISITOR, 1)).toBe(-1)
    expect(throttle.chargeDecompressed(VISITOR, 15_000, 10_000)).toBe(false)
    expect(throttle.chargeDecompressed('203.0.113.8', 5_000, 10_000)).toBe(true)
    expect(throttle.chargeDecompressed('10.0.0.1', 1_000_000, 10_000)).toBe(true)
  })
})
