/** Warnings about the proxy in front, from the flags of requests. */

import { beforeEach, describe, expect, it } from 'vitest'
import type { RequestFlag } from '../../../contract/admin-api.ts'
import { ProxyFaults } from '../../../tunnel/src/policy/proxy-detection.ts'

const MINUTE_MS = 60_000

describe('ProxyFaults', () => {
  let time: number
  let faults: ProxyFaults

  beforeEach(() => {
    time = 5_000
    faults = new ProxyFaults(() => time)
  })

  /** Counts a request of a trusted proxy. */
  function note(...flags: RequestFlag[]): void {
    faults.note({ flags, isPeerTrusted: true }, 'shop.example')
  }

  it('warns of nothing without requests, and for requests without flags', () => {
    expect(faults.warnings()).toEqual([])
    note()
    expect(faults.warnings()).toEqual([])
  })

  it.each([
    ['cookie', /passes the header Cookie of visitors on/],
    ['authorization', /passes the header Authorization of visitors on/],
  ] as const)('warns of one request with the flag %s', (flag, words) => {
    for (let n = 0; n < 10; n++) note()
    note(flag)
    expect(faults.warnings()).toEqual([expect.stringMatching(words)])
  })

  it('ignores credentials of a peer that is not trusted', () => {
    for (let n = 0; n < 10; n++) note()
    faults.note({ flags: ['cookie', 'authorization'], isPeerTrusted: false }, 'shop.example')
    expect(faults.warnings()).toEqual([])
  })

  it.each([
    ['address-missing', /no X-Forwarded-For/],
    ['address-list', /several addresses in X-Forwarded-For/],
    ['peer-unknown', /a proxy that is not trusted/],
  ] as const)('warns when most requests have the flag %s', (flag, words) => {
    note()
    note(flag)
    expect(faults.warnings()).toEqual([])
    note(flag)
    expect(faults.warnings()).toEqual([expect.stringMatching(words)])
  })

  it.each([
    ['10.1.2.3', 'shop.example', 1],
    ['fd00::1', 'shop.example', 1],
    ['10.1.2.3', 'localhost:8080', 0],
    ['8.8.8.8', 'shop.example', 0],
  ])(
    'warns when most visitors of a public name have a private address: %s, %s',
    (address, host, warnings) => {
      const visit = (from: string) => faults.note({ flags: [], isPeerTrusted: true, address: from }, host)
      for (let n = 0; n < 4; n++) visit(address)
      expect(faults.warnings()).toEqual([])
      for (let n = 0; n < 5; n++) visit('8.8.8.8')
      visit(address)
      expect(faults.warnings()).toEqual([])
      visit(address)
      expect(faults.warnings()).toHaveLength(warnings)
      expect(faults.warnings().join()).toContain(warnings === 0 ? '' : address)
      time += 30 * MINUTE_MS
      expect(faults.warnings()).toEqual([])
    },
  )

  it('names the first private address of the last ten to twenty minutes', () => {
    const visit = (address: string) =>
      faults.note({ flags: [], isPeerTrusted: true, address }, 'shop.example')
    for (let n = 1; n <= 5; n++) visit(`10.0.0.${n}`)
    const [warning] = faults.warnings()
    expect(warning).toContain('10.0.0.1:')
    time += 11 * MINUTE_MS
    visit('10.0.0.20')
    expect(faults.warnings()).toEqual([warning])
    time += 11 * MINUTE_MS
    for (let n = 1; n <= 5; n++) visit(`10.0.0.${n}`)
    expect(faults.warnings()).toEqual([expect.stringContaining('10.0.0.20:')])
  })

  it('forgets a fault after twenty minutes, with and without requests meanwhile', () => {
    for (const isBusy of [true, false]) {
      note('cookie')
      time += 15 * MINUTE_MS
      if (isBusy) note()
      expect(faults.warnings()).toHaveLength(1)
      time += 15 * MINUTE_MS
      if (isBusy) note()
      expect(faults.warnings()).toEqual([])
    }
  })
})
