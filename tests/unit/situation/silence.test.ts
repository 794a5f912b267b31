/** Time without a report in which pages have loaded the SDK. */

import { describe, expect, it } from 'vitest'
import { findSilence } from '../../../contract/situation/silence.ts'
import { figuresOf, MINUTE, pointAt } from '../../support/web/figures.ts'

const LOADS = [pointAt(0, { sdk_loads: 8 }), pointAt(1), pointAt(9, { sdk_loads: 12 })]

describe('findSilence', () => {
  it('finds pages that loaded the SDK, and no report', () => {
    expect(findSilence(figuresOf(LOADS, { to: 30 * MINUTE }))).toEqual({ since: 0, minutes: 30, loads: 20 })
  })

  it('finds pages while only servers send envelopes that are accepted', () => {
    const ofServer = pointAt(5, { received: 2, outcomes: { delivered: 1, 'rejected:dsn-unknown': 1 } })
    expect(findSilence(figuresOf([...LOADS, ofServer], { to: 30 * MINUTE }))).toMatchObject({ loads: 20 })
  })

  it.each([
    ['a report', [...LOADS, pointAt(5, { received: 1, browser_envelopes: 1 })]],
    ['too few pages', [...LOADS.slice(0, 2), pointAt(9, { sdk_loads: 11 })]],
    ['no replica at the begin', LOADS.slice(2)],
    ['nothing counted', []],
  ])('finds none with %s', (_, points) => {
    expect(findSilence(figuresOf(points))).toBeUndefined()
  })
})
