/** CSP reports as the inbox shows them. */

import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Budget, PAGE_CHARACTERS } from '../../../../../web/features/console/bounds.ts'
import { cutCspReport, readCspReport } from '../../../../../web/features/console/inbox/csp-report.ts'
import { modelEnvelope } from '../../../../../web/features/console/inbox/envelope-model.ts'
import { envelopeOf } from '../../../../support/envelopes.ts'

const PAGE = 'https://shop.example/cart'
const LEGACY = {
  'csp-report': {
    'document-uri': PAGE,
    'blocked-uri': 'inline',
    'effective-directive': 'script-src-elem',
    'violated-directive': 'script-src-elem',
    'source-file': PAGE,
    'line-number': 12,
    'column-number': 7,
    'script-sample': 'alert(1)',
    disposition: 'enforce',
  },
}

describe('readCspReport', () => {
  it('names the directive, the blocked URL, the source line and the sample', () => {
    expect(readCspReport(LEGACY)).toEqual({
      sample: 'alert(1)',
      facts: [
        ['Directive', 'script-src-elem'],
        ['Blocked', 'inline'],
        ['Source', `${PAGE}:12:7`],
        ['Page', PAGE],
        ['Effect', 'blocked'],
      ],
    })
  })

  it('reads the form of the Reporting API', () => {
    const body = {
      documentURL: PAGE,
      blockedURL: 'eval',
      effectiveDirective: 'script-src',
      disposition: 'report',
    }
    expect(readCspReport({ type: 'csp-violation', body })?.facts).toEqual([
      ['Directive', 'script-src'],
      ['Blocked', 'eval'],
      ['Page', PAGE],
      ['Effect', 'reported only'],
    ])
  })

  it.each([[null], ['text'], [[]], [{}], [{ 'csp-report': 1 }]])('returns undefined for %j', (value) => {
    expect(readCspReport(value)).toBeUndefined()
  })

  it('leaves out members of another type', () => {
    expect(readCspReport({ 'csp-report': { 'blocked-uri': {}, 'line-number': 'x' } })).toMatchObject({
      facts: [['Directive', 'a directive']],
    })
  })

  it('is cut to what a page may show', () => {
    const long = 'x'.repeat(100_000)
    const read = readCspReport({ 'csp-report': { 'blocked-uri': long, 'script-sample': long } })
    const cut = read && cutCspReport(read, new Budget(PAGE_CHARACTERS.readable))
    expect(JSON.stringify(cut).length).toBeLessThan(10_000)
  })

  it('gives the envelope its title', async () => {
    const payload = JSON.stringify(LEGACY)
    const envelope = envelopeOf({}, [{ header: { type: 'raw_security' }, payload }])
    const { title } = await modelEnvelope(Readable.from([envelope]), envelope.length, 0)
    expect(title).toBe('Blocked by script-src-elem: inline')
  })
})
