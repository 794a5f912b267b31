/** Envelopes of every kind that SDKs send, each with unique bytes. */

import { createHash, randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { envelopeOf, type Part } from '../envelopes.ts'

export type Sent = { kind: string; body: Buffer; encoding?: 'gzip'; content: string }

type Header = Record<string, unknown>
type Kind = (n: number) => { header?: Header; parts: Part[] }

const LARGE_BYTES = 1_300_000 // more than a row of the spool stores
const LARGE_EVERY = 400 // one in 400
const GZIPPED_EVERY = 20
const SEGMENTS = 5 // segments of a replay, with the same ID

/** Envelopes by name; `n` makes each unique. */
const KINDS: Record<string, Kind> = {
  event: (n) => ({
    header: { event_id: idOf(n) },
    parts: [json('event', { message: n, extra: text(2_500) })],
  }),
  'event with attachment': (n) => ({
    header: { event_id: idOf(n) },
    parts: [json('event', { message: n }), binary('attachment', 3_000, { filename: 'a.bin' })],
  }),
  transaction: (n) => ({
    header: { event_id: idOf(n) },
    parts: [json('transaction', { n, spans: text(5_000) })],
  }),
  session: (n) => ({ parts: [json('session', { sid: idOf(n), status: 'ok' })] }),
  sessions: (n) => ({ parts: [json('sessions', { n, aggregates: [] })] }),
  feedback: (n) => ({ header: { event_id: idOf(n) }, parts: [json('feedback', { n, contexts: {} })] }),
  user_report: (n) => ({ header: { event_id: idOf(n) }, parts: [json('user_report', { n })] }),
  replay: (n) => ({
    header: { event_id: idOf(n - (n % SEGMENTS)) },
    parts: [json('replay_event', { segment_id: n }), binary('replay_recording', 8_000)],
  }),
  check_in: (n) => ({ parts: [json('check_in', { check_in_id: idOf(n), status: 'ok' })] }),
  log: (n) => ({ parts: [json('log', { items: [{ body: n }] }, { item_count: 1 })] }),
  span: (n) => ({ parts: [json('span', { items: [{ n }] }, { item_count: 1 })] }),
  trace_metric: (n) => ({ parts: [json('trace_metric', { items: [{ n }] }, { item_count: 1 })] }),
  profile: (n) => ({
    header: { event_id: idOf(n) },
    parts: [json('transaction', { n }), json('profile', { n, frames: text(6_000) })],
  }),
  profile_chunk: (n) => ({ parts: [json('profile_chunk', { n }, { platform: 'javascript' })] }),
  statsd: (n) => ({ parts: [{ header: { type: 'statsd' }, payload: `a@none:${n}|c` }] }),
  client_report: (n) => ({ parts: [json('client_report', { timestamp: n, discarded_events: [] })] }),
  unknown: (n) => ({ parts: [binary('yet_unknown', 200, { n })] }),
}

const NAMES = Object.keys(KINDS)

/** Builds envelope `n` of project `dsn`: the kinds in turn, some of them large or compressed. */
export function envelopeAt(n: number, dsn: string): Sent {
  const large = n % LARGE_EVERY === LARGE_EVERY - 1
  const kind = large ? 'large attachment' : (NAMES[n % NAMES.length] ?? '')
  const { header = {}, parts } = large ? largeAttachment(n) : made(kind, n)
  const sentAt = n % 3 === 0 ? {} : { sent_at: new Date().toISOString() } // not every SDK writes one
  const body = envelopeOf({ ...header, ...sentAt, dsn, sdk: { name: 'test' } }, parts)
  const sent = { kind, content: contentOf(body) }
  return n % GZIPPED_EVERY === 7 ? { ...sent, body: gzipSync(body), encoding: 'gzip' } : { ...sent, body }
}

/** Builds an error of 6 KB, which no other envelope evicts from a full spool. */
export function errorAt(n: number, dsn: string): Sent {
  const header = { event_id: idOf(n), sent_at: new Date().toISOString(), dsn }
  const body = envelopeOf(header, [json('event', { message: n, extra: text(5_600) })])
  return { kind: 'event', body, content: contentOf(body) }
}

/** Returns a fingerprint of an envelope's content, which does not change with the time of sending. */
export function contentOf(envelope: Buffer): string {
  const newline = envelope.indexOf('\n')
  const { sent_at: _, ...header } = JSON.parse(envelope.toString('utf8', 0, newline))
  return createHash('sha256')
    .update(JSON.stringify(header))
    .update(envelope.subarray(newline))
    .digest('base64')
}

function made(kind: string, n: number): ReturnType<Kind> {
  const make = KINDS[kind]
  if (!make) throw new Error(`no kind ${kind}`)
  return make(n)
}

function largeAttachment(n: number): ReturnType<Kind> {
  return {
    header: { event_id: idOf(n) },
    parts: [binary('attachment', LARGE_BYTES, { filename: 'large.bin' })],
  }
}

function json(type: string, payload: object, header: Header = {}): Part {
  const text = JSON.stringify(payload)
  return { header: { type, length: Buffer.byteLength(text), ...header }, payload: text }
}

function binary(type: string, length: number, header: Header = {}): Part {
  return { header: { type, length, ...header }, payload: randomBytes(length) }
}

function text(length: number): string {
  return randomBytes(length / 2).toString('hex')
}

function idOf(n: number): string {
  return n.toString(16).padStart(32, '0')
}
