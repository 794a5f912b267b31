/** Names, numbers and headers of spool entries on NATS. */

import { describe, expect, it } from 'vitest'
import {
  decodeEntry,
  decodeId,
  type Entry,
  encodeEntry,
  encodeId,
  encodePlace,
  parseSubject,
  subjectOf,
  subjectsWithin,
  timeOfPlace,
  toSpoolEntry,
} from '../../../../tunnel/src/store/jetstream/codec.ts'
import { PROJECT, spoolEntryOf } from '../../../support/spool/entries.ts'

const TIME = '2026-11-22T14:25:25.531475Z'
const NANOS = BigInt(Date.parse(TIME)) * 1_000_000n + 475_576n

describe('A spool entry on NATS', () => {
  it.each(['error', ''])('has its project and its category %j in its subject', (category) => {
    const partition = { priority: 1, project: PROJECT, category }
    expect(parseSubject(subjectOf(partition))).toEqual(partition)
    expect(subjectsWithin(1, { projects: [PROJECT], category })).toEqual([subjectOf(partition)])
  })

  it('has an ID of at most 15 digits that encodes its priority and its sequence number', () => {
    const seq = Date.parse('2050-01-01')
    const id = encodeId(3, seq)
    expect(decodeId(id)).toEqual({ priority: 3, seq })
    expect(String(id).length).toBeLessThanOrEqual(15)
  })

  it('has a position of at most 15 digits that encodes the time when it was stored', () => {
    const place = encodePlace(2, NANOS)
    expect(timeOfPlace(place)).toBe(TIME)
    expect(encodePlace(0, NANOS + 1_000n)).toBeGreaterThan(place)
    expect(String(place).length).toBeLessThanOrEqual(15)
  })

  it('has its metadata in one ASCII header', async () => {
    const entry: Entry = { ...(await spoolEntryOf(Buffer.from('x'))), mark: 'put', due: 1 }
    entry.headers = ['x', 'ü "quoted" \\ \u{1f600}']
    const headers = encodeEntry(entry)
    expect(headers.get('Culvert')).toMatch(/^[ -~]+$/)
    expect(decodeEntry(headers)).toEqual(entry)
    expect(toSpoolEntry(entry)).not.toHaveProperty('mark')
    expect(toSpoolEntry(entry)).not.toHaveProperty('due')
  })

  it('that was resent by the previous release has its arrival', async () => {
    const entry: Entry = { ...(await spoolEntryOf(Buffer.from('x'), { resent: Date.now() })), mark: 'put' }
    const { received, resent = 0 } = entry
    const written: object = { ...entry, received: resent, arrived: received }
    expect(decodeEntry(encodeEntry(written as Entry))).toEqual(entry)
  })
})
