/** Values that scrubbing changes in a stored envelope. */

import { describe, expect, it } from 'vitest'
import { listChanges, readItems } from '../../../../tunnel/src/policy/scrub/preview.ts'
import { Scrubbing } from '../../../../tunnel/src/policy/scrub.ts'
import { envelopeOf } from '../../../support/envelopes.ts'

function changesOf(type: string, payload: unknown, header: object = {}) {
  const scrubbing = new Scrubbing(
    { level: 'strict', mode: 'observe', attachments: 'pass', selected: [], users: { kind: 'remove' } },
    () => {},
  )
  const envelope = envelopeOf({}, [{ header: { type, ...header }, payload: JSON.stringify(payload) }])
  return readItems(envelope, () => true).flatMap((item) => {
    const found = scrubbing.scrub(item)
    return found && typeof found !== 'string' ? listChanges(item, found, 10).changes : []
  })
}

describe('listChanges', () => {
  it('finds the rule of each value in a container by its remarks', () => {
    const log = (body: string) => ({ body, attributes: {} })
    const payload = { items: [log('fine'), log('a@b.example'), log('from 10.0.0.1')] }
    const header = { item_count: 3, content_type: 'application/vnd.sentry.items.log+json' }
    expect(changesOf('log', payload, header)).toEqual([
      { item: 'log', path: 'items.1.body', before: 'a@b.example', after: '[email]', rule: '@email:replace' },
      { item: 'log', path: 'items.2.body', before: 'from 10.0.0.1', after: 'from [ip]', rule: '@ip:replace' },
    ])
  })

  it('names no rule when an item without remarks has several', () => {
    const report = { comments: 'a@b.example', name: 'fine' }
    expect(changesOf('user_report', report)).toMatchObject([{ rule: '@email:replace' }])
    expect(changesOf('user_report', { ...report, name: '10.0.0.1' })).toEqual([
      { item: 'user_report', path: 'comments', before: 'a@b.example', after: '[email]' },
      { item: 'user_report', path: 'name', before: '10.0.0.1', after: '[ip]' },
    ])
  })

  it('returns an object as a whole when the name of a member changes', () => {
    expect(changesOf('event', { extra: { 'a@b.example': 1 } })).toEqual([
      {
        ...{ item: 'event', path: 'extra', rule: '@email:replace' },
        ...{ before: '{"a@b.example":1}', after: '{"[email]":1}' },
      },
    ])
  })

  it('leaves remarks of SDKs out', () => {
    const meta = { message: { '': { rem: [['sdk', 's']] } } }
    expect(changesOf('event', { message: 'a@b.example', _meta: meta })).toEqual([
      { item: 'event', path: 'message', before: 'a@b.example', after: '[email]', rule: '@email:replace' },
    ])
  })

  it('returns nothing for an unchanged payload, with names like those of prototypes', () => {
    expect(changesOf('event', JSON.parse('{"__proto__":{"a":1},"constructor":[null,true]}'))).toEqual([])
  })
})
