/** Culvert's own requests are never reported. */

import { describe, expect, it } from 'vitest'
import { isOwnRequest } from '../../../../web/lib/sentry/browser-config.ts'
import { createSampler } from '../../../../web/lib/sentry/sampling.ts'

const OWN = [
  '/healthz',
  '/console/public/settings.json',
  '/console/public/receipt.json?token=0123',
  '/lab/report.json?reference=01234567',
  '/lab/outage',
  '/console',
  '/console/live?filter=x',
  'https://site.example/console/public/receipt.json?token=0123',
]
const OTHERS = ['/', '/lab', '/lab?call', '/consoles', '/healthz/more', '/shop?next=/healthz', '']

describe('isOwnRequest', () => {
  it.each(OWN)('returns true for %s', (url) => {
    expect(isOwnRequest(url)).toBe(true)
  })

  it.each(OTHERS)('returns false for "%s"', (url) => {
    expect(isOwnRequest(url)).toBe(false)
  })
})

describe('The trace sampler of the server', () => {
  const shareOf = createSampler(1, 'mark', () => 0)

  it.each(OWN)('leaves out %s, also when the browser requests the trace', (url) => {
    expect(shareOf({ attributes: { 'http.target': url }, parentSampled: true })).toBe(0)
    expect(shareOf({ normalizedRequest: { url } })).toBe(0)
  })

  it.each(OTHERS)('samples "%s"', (url) => {
    expect(shareOf({ attributes: { 'http.target': url } })).toBe(1)
  })
})
