/** Data that tells visitors apart: users, reply addresses and client addresses. */

import { describe, expect, it } from 'vitest'
import { builtInRuleSet } from '../../../../tunnel/src/policy/scrub/rules.ts'
import { Scrubber } from '../../../../tunnel/src/policy/scrub/scrubber.ts'
import { DEFAULT, metaOf, STRICT, scrubText, scrubValue } from './scrub-json.ts'

const pseudonymizer = (key: string) => new Scrubber(builtInRuleSet('default', { kind: 'hash', key }))
const PSEUDONYMS = pseudonymizer('secret of a deployment')

/** Scrubs an element of a container. */
function scrubElement(scrubber: Scrubber, element: object): Record<string, unknown> {
  return JSON.parse(scrubText(scrubber, JSON.stringify({ items: [element] }), 'log', 'container')).items[0]
}

describe('A user who is named by an email address', () => {
  it.each(['id', 'username', 'email'])('has no %s after scrubbing', (name) => {
    const event = { user: { [name]: 'jane@example.com', geo: { city: 'Bern' } } }
    expect(scrubValue(DEFAULT, event)).toEqual({ user: { [name]: null, geo: { city: 'Bern' } } })
    expect(metaOf(DEFAULT, event)).toEqual({ user: { [name]: { '': { rem: [['@email:remove', 'x']] } } } })
  })

  it('has no constant in the place of an address in a longer text', () => {
    expect(scrubValue(DEFAULT, { user: { id: 'mailto:jane@example.com' } })).toEqual({ user: { id: null } })
  })

  it('keeps an ID that is no address', () => {
    const event = { user: { id: '42', username: 'jane' } }
    expect(scrubValue(PSEUDONYMS, event)).toEqual(event)
  })

  it('has the same pseudonym in every field and item, whatever the case of the address', () => {
    const events = [{ user: { id: 'Jane@Example.com ' } }, { user: { email: 'jane@example.com' } }]
    const pseudonym = /[0-9A-F]{40}/.exec(JSON.stringify(scrubValue(PSEUDONYMS, events[0] ?? {})))?.[0]
    expect(events.map((event) => scrubValue(PSEUDONYMS, event))).toEqual([
      { user: { id: pseudonym } },
      { user: { email: pseudonym } },
    ])
    const attributes = { 'user.email': { type: 'string', value: 'jane@example.com' } }
    expect(scrubElement(PSEUDONYMS, { attributes })).toMatchObject({
      attributes: { 'user.email': { type: 'string', value: pseudonym } },
    })
    expect(JSON.parse(scrubText(PSEUDONYMS, '{"did":"jane@example.com"}', 'session', 'plain'))).toEqual({
      did: pseudonym,
    })
  })

  it('has other pseudonyms with another key, and than another user', () => {
    const idOf = (scrubber: Scrubber, id: string) => JSON.stringify(scrubValue(scrubber, { user: { id } }))
    const jane = idOf(PSEUDONYMS, 'jane@example.com')
    expect(idOf(pseudonymizer('another secret'), 'jane@example.com')).not.toBe(jane)
    expect(idOf(PSEUDONYMS, 'john@example.com')).not.toBe(jane)
  })

  it('stays as a rule of the operator redacts it', () => {
    const selector = ({ path }: { path: readonly unknown[] }) => path.join('.') === 'user.email'
    const rules = builtInRuleSet('default').everywhere.filter(({ id }) => id === '@email:replace')
    const mask = rules.map((rule) => ({ ...rule, id: 'own', method: { kind: 'mask' } as const }))
    const scrubber = new Scrubber({ ...builtInRuleSet('default'), selected: [{ selector, rules: mask }] })
    expect(scrubValue(scrubber, { user: { email: 'a@b.example' } })).toEqual({
      user: { email: '***********' },
    })
  })
})

describe('A session', () => {
  const session = {
    sid: '7c7b6585-f901-4351-bf8d-02711b721929',
    did: 'jane@example.com',
    seq: 4111111111111111,
    attrs: { release: 'shop@api.example', environment: 'production', ip_address: '203.0.113.7' },
  }
  const scrub = (scrubber: Scrubber) =>
    JSON.parse(scrubText(scrubber, JSON.stringify(session), 'session', 'plain'))

  it('loses the address of its user, and keeps all that Sentry counts', () => {
    expect(scrub(DEFAULT)).toEqual({ ...session, did: null })
    expect(scrub(STRICT)).toEqual({ ...session, did: null, attrs: { ...session.attrs, ip_address: null } })
  })
})

describe('The address for a reply in feedback', () => {
  const feedback = {
    contexts: { feedback: { contact_email: 'jane@example.com', message: 'to john@example.com' } },
    user: { email: 'jane@example.com' },
  }

  it('stays, unless SCRUB is strict', () => {
    const scrub = (scrubber: Scrubber) =>
      JSON.parse(scrubText(scrubber, JSON.stringify(feedback), 'feedback', 'event'))
    expect(scrub(DEFAULT)).toMatchObject({
      contexts: { feedback: { contact_email: 'jane@example.com', message: 'to [email]' } },
      user: { email: null },
    })
    expect(scrub(STRICT)).toMatchObject({ contexts: { feedback: { contact_email: null } } })
  })

  it('stays in reports of older SDKs', () => {
    const report = { email: 'jane@example.com', name: 'Jane', comments: 'ask john@example.com' }
    const scrub = (scrubber: Scrubber) =>
      JSON.parse(scrubText(scrubber, JSON.stringify(report), 'user_report', 'plain'))
    expect(scrub(DEFAULT)).toEqual({ ...report, comments: 'ask [email]' })
    expect(scrub(STRICT)).toEqual({ ...report, email: '[email]', comments: 'ask [email]' })
  })
})

describe('With SCRUB=strict, Sentry does not add the client address', () => {
  const never = { infer_ip: 'never' }

  it.each([
    [{ user: { id: '1', ip_address: '{{auto}}' } }, { user: { id: '1', ip_address: null } }],
    [{ request: { env: { REMOTE_ADDR: '{{auto}}' } } }, { request: { env: { REMOTE_ADDR: null } } }],
    [
      { sdk: { name: 'a', settings: { infer_ip: 'auto', x: 1 } } },
      { sdk: { name: 'a', settings: { ...never, x: 1 } } },
    ],
    [{ sdk: { settings: { infer_ip: 'legacy' } } }, { sdk: { settings: never } }],
    [{ sdk: { name: 'a', settings: { x: 1 } } }, { sdk: { name: 'a', settings: { x: 1, ...never } } }],
    [{ sdk: { name: 'a' } }, { sdk: { name: 'a', settings: never } }],
    [{ platform: 'javascript' }, { platform: 'javascript', sdk: { settings: never } }],
    [
      { platform: 'cocoa', sdk: {} },
      { platform: 'cocoa', sdk: { settings: never } },
    ],
    [{ platform: 'node' }, { platform: 'node' }],
    [{ sdk: { settings: never } }, { sdk: { settings: never } }],
  ])('for %j', (event, expected) => {
    expect(scrubValue(STRICT, event)).toEqual(expected)
    expect(scrubValue(DEFAULT, event)).toEqual(event)
  })

  it('for an event with escapes, and one whose message is scrubbed too', () => {
    expect(scrubText(STRICT, String.raw`{"user":{"ip_address":"\u007b{auto}}"}}`)).not.toContain('auto')
    expect(scrubValue(STRICT, { platform: 'javascript', message: 'at 10.0.0.1' })).toEqual({
      platform: 'javascript',
      message: 'at [ip]',
      sdk: { settings: never },
    })
  })

  it('for spans and logs', () => {
    const payload = {
      ingest_settings: { infer_ip: 'auto', infer_user_agent: 'auto' },
      items: [{ body: 'x' }],
    }
    expect(JSON.parse(scrubText(STRICT, JSON.stringify(payload), 'log', 'container'))).toEqual({
      ...payload,
      ingest_settings: { infer_ip: 'never', infer_user_agent: 'auto' },
    })
    const data = { 'client.address': '{{auto}}' }
    expect(JSON.parse(scrubText(STRICT, JSON.stringify({ data }), 'span', 'event'))).toMatchObject({
      data: { 'client.address': null },
    })
  })
})
