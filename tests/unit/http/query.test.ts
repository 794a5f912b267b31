/** Identifiers in the query of a tunnel URL, which have one spelling only. */

import { describe, expect, it } from 'vitest'
import { readQuery } from '../../../tunnel/src/http/query.ts'
import { codeOf } from '../../support/rejection.ts'

describe('The query of a tunnel URL', () => {
  it.each([
    ['/monitoring', {}],
    ['/monitoring?', {}],
    ['/monitoring?p=456', { p: '456' }],
    ['/monitoring?p=456&o=123&r=us', { p: '456', o: '123', r: 'us' }],
    ['/monitoring?o=123&p=456', { p: '456', o: '123' }],
    ['/monitoring/?p=0', { p: '0' }],
    ['/monitoring?p=456&utm_source=a%20b&x', { p: '456' }],
    ['/monitoring?P=x&pp=1&po=2', {}],
    ['/monitoring?&p=456&', { p: '456' }],
  ])('%s is parsed as %j', (target, query) => {
    expect(readQuery(target)).toEqual(query)
  })

  it.each([
    ['a project twice', 'p=456&p=456'],
    ['an organisation twice', 'p=456&o=1&o=2'],
    ['a region twice', 'r=us&r=de'],
    ['a leading zero', 'p=0456'],
    ['a name without a value', 'p'],
    ['an empty value', 'p=&o=1'],
    ['letters for digits', 'p=abc'],
    ['full-width digits', 'p=４５６'],
    ['full-width digits, escaped', 'p=%EF%BC%94'],
    ['escaped digits', 'p=%34%35%36'],
    ['an escaped name', '%70=456'],
    ['a plus', 'p=+456'],
    ['a plus in the name', '+p=456'],
    ['a sign', 'p=-1'],
    ['an exponent', 'p=1e3'],
    ['21 digits', `p=${'9'.repeat(21)}`],
    ['a host', 'o=1.evil.example/x'],
    ['a fragment', 'o=1#'],
    ['a fragment, escaped', 'o=1%23'],
    ['a second question mark', 'p=1?x'],
    ['a semicolon', 'p=1;o=2'],
    ['an array', 'p=1&p[]=2&p=3'],
    ['digits for a region', 'r=12'],
    ['a region in capitals', 'r=US'],
    ['a long region', `r=${'a'.repeat(17)}`],
    ['a space', 'p=1 '],
    ['a second equals sign', 'p==1'],
  ])('with %s is rejected with query-malformed', (_, query) => {
    expect(codeOf(() => readQuery(`/monitoring?${query}`))).toBe('query-malformed')
  })
})
