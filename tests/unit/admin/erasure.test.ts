/** Search for a user in an envelope. */

import { describe, expect, it } from 'vitest'
import { normalized, searchEnvelope } from '../../../tunnel/src/admin/erasure.ts'
import { envelopeOf } from '../../support/envelopes.ts'
import { readEnvelope } from '../../support/read-envelope.ts'

function search(type: string, payload: string, wanted: string, header: object = {}) {
  return searchEnvelope(
    readEnvelope(envelopeOf({ ...header }, [{ header: { type }, payload }])),
    normalized(wanted),
  )
}

describe('searchEnvelope', () => {
  it.each([
    ['event', { user: { id: 42 } }, '42'],
    ['event', { user: { email: 'Jane@Shop.Example' } }, 'jane@shop.example'],
    ['event', { user: { username: 'jane' } }, 'jane'],
    ['transaction', { user: { ip_address: '2001:db8:0:0::1' } }, '2001:DB8::1'],
    ['feedback', { contexts: { feedback: { contact_email: 'jane@shop.example' } } }, 'jane@shop.example'],
    ['user_report', { email: 'jane@shop.example' }, 'jane@shop.example'],
    ['session', { did: 'jane' }, 'jane'],
    ['sessions', { attrs: { ip_address: '203.0.113.7' } }, '203.0.113.7'],
    ['log', { items: [{ attributes: { 'user.id': { value: 'jane', type: 'string' } } }] }, 'jane'],
    ['span', { items: [{ attributes: { 'user.email': { value: 'j@shop.example' } } }] }, 'j@shop.example'],
  ])('finds the user of %s %j', (type, payload, wanted) => {
    expect(search(type, JSON.stringify(payload), wanted)).toBe('match')
  })

  it.each([
    ['another user', 'event', { user: { id: 421 } }],
    ['a part of a value', 'event', { user: { email: '42@shop.example' } }],
    ['an id that is not that of a user', 'event', { id: 42, contexts: { trace: { id: '42' } } }],
    ['a text', 'event', { message: '42', user: { id: null } }],
  ])('does not find 42 in %s', (_, type, payload) => {
    expect(search(type, JSON.stringify(payload), '42')).toBe('none')
  })

  it('says that it could not search a payload', () => {
    expect(search('event', 'no JSON', '42')).toBe('unread')
  })

  it('does not search attachments', () => {
    expect(search('attachment', '{"user":{"id":42}}', '42')).toBe('none')
  })

  it('searches a payload that is nested deeply', () => {
    const deep = `${'['.repeat(5_000)}{"user":{"id":42}}${']'.repeat(5_000)}`
    expect(search('event', deep, '42')).toBe('match')
  })
})
