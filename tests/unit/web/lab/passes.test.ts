/** Passes that the error lab requires before it throws. */

import { beforeEach, describe, expect, it } from 'vitest'
import { createPasses, type Passes } from '../../../../web/features/lab/access.ts'
import { networkOf } from '../../../../web/lib/client-address.ts'

const MINUTE = 60_000

describe('A pass of the error lab', () => {
  let time: number
  let passes: Passes

  beforeEach(() => {
    time = 1_000_000
    passes = createPasses(() => time)
  })

  it('is valid once', () => {
    const pass = passes.issue()
    expect(passes.take(pass, '192.0.2.1')).toBeUndefined()
    expect(passes.take(pass, '192.0.2.1')).toBe('used')
  })

  it('is valid for 10 min', () => {
    const pass = passes.issue()
    time += 10 * MINUTE
    expect(passes.take(pass, '192.0.2.1')).toBe('expired')
  })

  it('is rejected when it is signed with another key, modified or invented', () => {
    const pass = passes.issue()
    const longer = pass.replace(/^\d+/, (expires) => String(Number(expires) + MINUTE))
    for (const forged of ['', 'x', longer, createPasses(() => time).issue(), `${pass}0`])
      expect(passes.take(forged, '192.0.2.1')).toBe('forged')
  })

  it('is issued to one address ten times a minute', () => {
    const take = () => passes.take(passes.issue(), '192.0.2.1')
    expect(Array.from({ length: 12 }, take)).toEqual([...Array(10).fill(undefined), 'limited', 'limited'])
    expect(passes.take(passes.issue(), '192.0.2.2')).toBeUndefined()
    time += MINUTE
    expect(take()).toBeUndefined()
  })

  it('is issued sixty times a minute in total', () => {
    const taken = Array.from({ length: 100 }, (_, index) => passes.take(passes.issue(), `192.0.2.${index}`))
    expect(taken.filter((rejection) => rejection === undefined)).toHaveLength(60)
    expect(taken.at(-1)).toBe('limited')
  })
})

describe('The network of a client address', () => {
  const of = (address: string) => networkOf(new Headers({ 'x-forwarded-for': address }))

  it('is the address itself for IPv4, and the /64 for IPv6', () => {
    expect(of('192.0.2.1')).toBe('192.0.2.1')
    expect(of('2001:db8::1')).toBe(of('2001:db8:0:0:ffff::'))
    expect(of('2001:db8:0:1::1')).not.toBe(of('2001:db8::1'))
  })
})
