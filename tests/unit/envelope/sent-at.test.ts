/** `sent_at`, moved by the time in the spool. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { moveSentAt } from '../../../tunnel/src/envelope/sent-at.ts'
import { EVENT_ID, envelopeOf } from '../../support/envelopes.ts'

const MINUTE = 60_000
const TEN_MINUTES = 10 * MINUTE
const BINARY = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
const PART = { header: { type: 'attachment', length: BINARY.length }, payload: BINARY }

const move = (envelope: Buffer | string, waited = TEN_MINUTES) =>
  Buffer.concat(moveSentAt(Buffer.from(envelope), waited))

describe('moveSentAt', () => {
  it('corrects event times to 2 s, for an envelope pending for 10 minutes from a browser whose clock is 5 minutes late', () => {
    const truth = Date.UTC(2026, 7, 14, 12)
    const browserClock = (time: number) => time - 5 * MINUTE
    const sentAt = new Date(browserClock(truth + 300)).toISOString() // shortly after it happened
    const arrived = truth + 800
    const moved = move(envelopeOf({ sent_at: sentAt }, [PART]), TEN_MINUTES)
    const sentryClock = arrived + TEN_MINUTES + 200
    const drift = sentryClock - Date.parse(headerOf(moved).sent_at) // as Relay computes it
    expect(Math.abs(browserClock(truth) + drift - truth)).toBeLessThan(2_000)
  })

  it.each([
    ['in the format of browsers', '2026-08-14T11:55:00.300Z', '2026-08-14T12:05:00.300Z'],
    ['with a longer result', '2026-08-14T11:55:00Z', '2026-08-14T12:05:00.000Z'],
    ['with a shorter result', '2026-08-14T13:55:00.123456789+02:00', '2026-08-14T12:05:00.123Z'],
    ['with an offset without a colon', '2026-08-14T11:55:00+0000', '2026-08-14T12:05:00.000Z'],
    ['with blanks, in UTC', ' 2026-8-14 11:55:00.3 UTC ', '2026-08-14T12:05:00.300Z'],
    ['west of UTC', '2026-08-14 06:25:00 -05 30', '2026-08-14T12:05:00.000Z'],
    ['past midnight and the end of a year', '2025-12-31T23:55:00.000Z', '2026-01-01T00:05:00.000Z'],
  ])('moves sent_at %s', (_, before, after) => {
    const header = (sentAt: string) =>
      `{ "event_id" :"${EVENT_ID}",  "sent_at": "${sentAt}" ,"sdk":{"name":"ü"}}`
    const rest = Buffer.concat([Buffer.from('\n{"type":"x"}\n'), BINARY, Buffer.from('\n{"sent_at":"2026"}')])
    const moved = move(Buffer.concat([Buffer.from(header(before)), rest]))
    expect(moved).toEqual(Buffer.concat([Buffer.from(header(after)), rest]))
  })

  it('moves a sent_at whose key is written with an escape', () => {
    expect(move('{"sent\\u005fat":"2026-08-14T11:55:00.000Z"}\n')).toEqual(
      Buffer.from('{"sent\\u005fat":"2026-08-14T12:05:00.000Z"}\n'),
    )
  })

  it('changes no sent_at in nested objects, item headers or payloads', () => {
    const nested =
      '{"trace":{"sent_at":"2026-08-14T11:55:00Z"}}\n{"type":"event","sent_at":"2026-08-14T11:55:00Z"}\n{}'
    expect(move(nested)).toEqual(Buffer.from(nested))
  })

  it.each([
    ['no sent_at', '{"dsn":"https://k@sentry.example/1"}'],
    ['a sent_at that is a number', '{"sent_at":1786708500}'],
    ['a sent_at that is null', '{"sent_at":null}'],
    ['a sent_at that is an object', '{"sent_at":{"sent_at":"2026-08-14T11:55:00Z"}}'],
    ['a sent_at that is no time', '{"sent_at":"yesterday"}'],
    ['a sent_at beyond the last valid date', '{"sent_at":"+275760-09-13T00:00:00Z"}'],
    ['an empty sent_at', '{"sent_at":""}'],
    ['a header that is not JSON', '{"sent_at":"2026-08-14T11:55:00Z"'],
    ['an empty header', ''],
  ])('leaves an envelope unmodified with %s', (_, header) => {
    const envelope = Buffer.concat([Buffer.from(`${header}\n{"type":"x"}\n`), BINARY])
    expect(move(envelope)).toEqual(envelope)
    expect(move(header)).toEqual(Buffer.from(header))
  })

  it('moves the sent_at of an envelope without items', () => {
    expect(headerOf(move('{"sent_at":"2026-08-14T11:55:00Z"}')).sent_at).toBe('2026-08-14T12:05:00.000Z')
  })

  it('leaves all other bytes unmodified, for generated headers and payloads', () => {
    const header = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 })
    const time = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
    const days = fc.integer({ min: 0, max: 3 * 86_400_000 })
    fc.assert(
      fc.property(header, header, time, days, fc.uint8Array(), (before, after, sent, waited, payload) => {
        const { sent_at: _, ...rest } = after
        const whole = (sentAt: Date) =>
          Buffer.concat([
            Buffer.from(`${JSON.stringify({ ...before, sent_at: sentAt.toISOString(), ...rest })}\n`),
            payload,
          ])
        expect(move(whole(sent), waited)).toEqual(whole(new Date(sent.getTime() + waited)))
      }),
    )
  })
})

function headerOf(envelope: Buffer): { sent_at: string } {
  return JSON.parse(String(envelope).split('\n')[0] ?? '')
}
