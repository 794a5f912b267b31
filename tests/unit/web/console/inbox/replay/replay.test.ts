/** Segments of a replay, their order, and what is missing. */

import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { InboxEntry } from '../../../../../../contract/inbox.ts'
import {
  MAX_RECORDING_BYTES,
  readReport,
} from '../../../../../../web/features/console/inbox/replay/messages.ts'
import { modelReplay, replayIdIn } from '../../../../../../web/features/console/inbox/replay/replay.ts'
import { unpackSegment } from '../../../../../../web/features/console/inbox/replay/segment.ts'
import { INITIAL, reducePlayer } from '../../../../../../web/features/console/inbox/replay/use-replay.ts'
import { capture } from '../../../../../support/sdk-captures.ts'
import { parseEnvelope } from '../../../../../support/sentry/received-request.ts'

const ID = '0'.repeat(32)

const entry = (id: string, more: Partial<InboxEntry>): InboxEntry => ({
  ...{ id, time: 0, event_id: null, bytes: 1, types: [], group: id, kind: 'replay', title: id },
  ...{
    culprit: '',
    browser: '',
    is_error: false,
    release: '',
    environment: '',
    replay: ID,
    segment: null,
    raised: null,
    ...more,
  },
})

async function unpack(...chunks: (string | Buffer)[]): Promise<string> {
  async function* payload() {
    for (const chunk of chunks) yield Buffer.from(chunk)
  }
  let text = ''
  for await (const chunk of unpackSegment(payload())) text += chunk.toString('latin1')
  return text
}

describe('modelReplay', () => {
  it('orders segments, leaves out repeated ones, and names those that are missing', () => {
    const entries = [
      ...[4, 1, 2, 1].map((segment, n) => entry(`s${n}`, { segment })),
      entry('later', { is_error: true, kind: 'error', raised: 9 }),
      entry('error', { is_error: true, kind: 'error', raised: 7 }),
      entry('message', { kind: 'message', raised: 8 }),
    ]
    expect(modelReplay(entries)).toEqual({
      segments: [
        { envelope: 's1', number: 1 },
        { envelope: 's2', number: 2 },
        { envelope: 's0', number: 4 },
      ],
      missing: [0, 3],
      errors: [
        { envelope: 'error', title: 'error', time: 7 },
        { envelope: 'later', title: 'later', time: 9 },
      ],
    })
  })

  it('bounds the missing segments before one with a large number', () => {
    expect(modelReplay([entry('a', { segment: Number.MAX_SAFE_INTEGER })]).missing).toHaveLength(1_000)
  })
})

describe('replayIdIn', () => {
  it.each([
    [{ replay_id: ID }, ID],
    [{ tags: { replayId: ID } }, ID],
    [{ contexts: { replay: { replay_id: ID } } }, ID],
    [{ contexts: { feedback: { replay_id: ID } } }, ID],
    [{ replay_id: `${ID}/../x`, tags: { replayId: 7 }, contexts: [] }, undefined],
    [null, undefined],
  ])('reads %j', (json, id) => {
    expect(replayIdIn(json)).toBe(id)
  })
})

describe('unpackSegment', () => {
  const json = JSON.stringify([{ type: 4 }])

  it.each([
    ['plain JSON', Buffer.from(json)],
    ['zlib', deflateSync(json)],
    ['gzip', gzipSync(json)],
  ])('reads %s, in one chunk or byte by byte', async (_, content) => {
    const payload = Buffer.concat([Buffer.from('{"segment_id":0}\n'), content])
    expect(await unpack(payload)).toBe(json)
    expect(await unpack(...Array.from(payload, (byte) => Buffer.of(byte)))).toBe(json)
  })

  it.each(['browser-11.12.0-replay-2', 'browser-11.12.0-replay-nocompression'])('reads %s', async (name) => {
    const item = parseEnvelope(capture(name).body).items.find(
      ({ header }) => header.type === 'replay_recording',
    )
    const events: { type: number }[] = JSON.parse(await unpack(item?.payload ?? ''))
    expect(events.map(({ type }) => type)).toContain(2)
  })

  it.each<[what: string, chunks: (string | Buffer)[]]>([
    ['damaged data', ['{}\n', Buffer.from([0x78, 0x9c, 1, 2, 3])]],
    ['a line that does not end', ['x'.repeat(2_000)]],
    ['data that unpacks to too many bytes', ['{}\n', deflateSync(Buffer.alloc(2 * MAX_RECORDING_BYTES + 1))]],
  ])('fails for %s', async (_, chunks) => {
    await expect(unpack(...chunks)).rejects.toThrow()
  })
})

describe('readReport', () => {
  it.each([
    null,
    'loaded',
    { type: 'open' },
    { type: 'time', at: '1', sequence: 0 },
    { type: 'time', at: Number.NaN, sequence: 0 },
    { type: 'time', at: 1 },
    { type: 'ended', sequence: '1' },
    { type: 'size', width: 1e9, height: 1 },
    { type: 'loaded', start: -1, duration: 1 },
  ])('ignores %j', (message) => {
    expect(readReport(message)).toBeUndefined()
  })

  it('returns only the members of a message, and a known problem', () => {
    expect(readReport({ type: 'time', at: 1, sequence: 2, html: '<b>' })).toEqual({
      type: 'time',
      at: 1,
      sequence: 2,
    })
    expect(readReport({ type: 'failed', problem: '<b>' })).toEqual({ type: 'failed', problem: 'failed' })
  })
})

describe('reducePlayer', () => {
  const ready = reducePlayer(INITIAL, { type: 'loaded', start: 5, duration: 1_000 })

  it('keeps the position within the replay, and starts again at its end', () => {
    expect(reducePlayer(ready, { type: 'seek', at: 2_000 }).at).toBe(1_000)
    expect(reducePlayer(ready, { type: 'seek', at: -1 }).at).toBe(0)
    const ended = reducePlayer(reducePlayer(ready, { type: 'play' }), { type: 'ended', sequence: 1 })
    expect(ended).toMatchObject({ isPlaying: false, at: 1_000 })
    expect(reducePlayer(ready, { type: 'ended', sequence: 1 })).toBe(ready)
    expect(reducePlayer(ended, { type: 'play' })).toMatchObject({ isPlaying: true, at: 0 })
  })
})
