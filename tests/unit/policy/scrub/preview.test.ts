/** Values that scrubbing changes in a stored envelope. */

import { describe, expect, it } from 'vitest'
import { describeChange, previewEnvelope } from '../../../../tunnel/src/policy/scrub/preview.ts'
import { Scrubbing } from '../../../../tunnel/src/policy/scrub/scrub.ts'
import { envelopeOf } from '../../../support/envelopes.ts'

function changesOf(type: string, payload: unknown, header: object = {}) {
  const scrubbing = new Scrubbing(
    { level: 'strict', mode: 'observe', attachments: 'pass', selected: [], users: { kind: 'remove' } },
    () => {},
  )
  const envelope = envelopeOf({}, [{ header: { type, ...header }, payload: JSON.stringify(payload) }])
  return previewEnvelope(envelope, scrubbing).flatMap(({ item, result }) =>
    typeof result === 'object' ? result.changes.map((change) => describeChange(item, change)) : [],
  )
}

describe('previewEnvelope', () => {
  it('finds the rule of each value in a container by its remarks', () => {
    const log = (body: string) => ({ body, attributes: {} })
    const payload = { items: [log('fine'), log('a@b.example'), log('from 10.0.0.1')] }
    const header = { item_count: 3, content_type: 'application/vnd.sentry.items.log+json' }
    expect(changesOf('log', payload, header)).toEqual([
      { item: 'log', path: 'items.1.body', before: 'a@b.example', after: '[email]', rule: '@email:replace' },
      { item: 'log', path: 'items.2.body', before: 'from 10.0.0.1', after: 'from [ip]', rule: '@ip:replace' },
    ])
  })

  it('finds the rules of an item without remarks', () => {
    expect(changesOf('user_report', { comments: 'a@b.example', name: '10.0.0.1' })).toEqual([
      {
        item: 'user_report',
        path: 'comments',
        before: 'a@b.example',
        after: '[email]',
        rule: '@email:replace',
      },
      { item: 'user_report', path: 'name', before: '10.0.0.1', after: '[ip]', rule: '@ip:replace' },
    ])
  })

  it('returns the name of a member as a change of the object', () => {
    expect(changesOf('event', { extra: { 'a@b.example': 1 } })).toEqual([
      { item: 'event', path: 'extra', before: 'a@b.example', after: '[email]', rule: '@email:replace' },
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
