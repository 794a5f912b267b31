/** Random requests with an envelope: well-formed ones, broken ones, and captures of SDKs with changed bytes. */

import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { captureFor, captures } from '../sdk-captures.ts'

export type Input = { path: string; headers: Record<string, string>; body: Buffer }

type Change = { at: number; removed: number; byte: number; inserted: number }

const LARGEST_CAPTURE = 48 * 1024 // larger ones only cost time
const DSN = Symbol('the DSN of the tunnel')

const KEYS = [
  ...['dsn', 'event_id', 'sent_at', 'sdk', 'trace', 'type', 'length', 'item_count', 'content_type'],
  ...[
    'filename',
    'attachment_type',
    'platform',
    'forwarded_for',
    'retention',
    'required_features',
    '__proto__',
  ],
]
const TYPES = [
  ...[
    'event',
    'transaction',
    'session',
    'sessions',
    'attachment',
    'client_report',
    'feedback',
    'user_report',
  ],
  ...[
    'replay_event',
    'replay_recording',
    'replay_video',
    'profile',
    'profile_chunk',
    'check_in',
    'span',
    'log',
  ],
  ...['trace_metric', 'statsd', 'nel', 'integration', 'raw_security', 'form_data', 'otel_log', 'constructor'],
]
const PACK = {
  gzip: (body: Buffer) => gzipSync(body, { level: 1 }),
  'x-gzip': (body: Buffer) => gzipSync(body, { level: 1 }),
  deflate: (body: Buffer) => deflateSync(body, { level: 1 }),
  br: (body: Buffer) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: (body: Buffer) => zstdCompressSync(body),
}

const changes = (most: number) =>
  fc.array(
    fc.record({
      at: fc.nat(),
      removed: fc.oneof({ weight: 3, arbitrary: fc.nat(2) }, fc.nat(400)),
      byte: fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('\n\r"{}[]\\,:0'))),
      inserted: fc.oneof({ weight: 5, arbitrary: fc.nat(2) }, fc.nat(3_000)),
    }),
    { maxLength: most },
  )

/** Returns `undefined` except in one of `cases` cases. */
const seldom = <T>(cases: number, arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: cases - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const jsonValue = fc.oneof(
  { weight: 4, arbitrary: fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)) },
  fc.string({ unit: 'binary' }),
  fc.jsonValue({ maxDepth: 3 }),
)
const members = fc.dictionary(
  fc.oneof(fc.constantFrom(...KEYS), fc.string(), fc.string({ unit: 'binary' })),
  jsonValue,
  { maxKeys: 5 },
)

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.jsonValue({ maxDepth: 4 }).map((value) => Buffer.from(JSON.stringify(value))),
  fc.constantFrom('', '{}', '\n', '\n\n', '{"a":1}\n{"type":"event"}\n').map((text) => Buffer.from(text)),
)

/** Functions from the real length of a payload to the one in its header. */
const lengths = fc.oneof(
  { weight: 6, arbitrary: fc.constant((real: number): unknown => real) },
  { weight: 3, arbitrary: fc.constant((): unknown => undefined) },
  fc.integer({ min: -3, max: 3 }).map(
    (off) =>
      (real: number): unknown =>
        real + off,
  ),
  fc.constantFrom<unknown>(-1, 1.5, 1e15, 2 ** 53, '7', null, []).map((value) => (): unknown => value),
)

const item = fc
  .tuple(
    members,
    fc.option(fc.constantFrom(...TYPES), { freq: 12 }),
    payload,
    lengths,
    fc.constantFrom('\n', '\r\n', ''),
  )
  .map(([more, type, content, lengthOf, end]) => {
    const header = { ...more, ...(type !== null && { type }), length: lengthOf(content.length) }
    return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), content, Buffer.from(end)])
  })

const envelope = fc
  .tuple(
    members,
    fc.oneof({ weight: 5, arbitrary: fc.constant(DSN) }, fc.webUrl()),
    fc.array(item, { maxLength: 6 }),
  )
  .map(([more, dsn, items]) => (valid: string) => {
    const header = JSON.stringify({ ...more, dsn: dsn === DSN ? valid : dsn })
    return Buffer.concat([Buffer.from(`${header}\n`), ...items])
  })

/** Returns requests for the project of `dsn`. */
export function inputsFor(dsn: string): fc.Arbitrary<Input> {
  const real = captures()
    .filter(({ body, dsn: own }) => own !== undefined && body.length < LARGEST_CAPTURE)
    .map(({ name }) => captureFor(dsn, name))
  const body = fc.oneof(
    fc.tuple(envelope, changes(2)).map(([build, list]) => change(build(dsn), list)),
    fc.tuple(fc.constantFrom(...real), changes(4)).map(([bytes, list]) => change(bytes, list)),
  )
  const encoded = fc
    .tuple(
      body,
      seldom(3, fc.constantFrom(...(Object.keys(PACK) as (keyof typeof PACK)[]))),
      seldom(4, changes(2)),
      seldom(12, fc.constantFrom('gzip', 'deflate', 'br', 'zstd', 'identity', 'compress', 'gzip, br')),
    )
    .map(([plain, encoding, list, label]) => {
      const packed = encoding ? PACK[encoding](plain) : plain
      const named = label ?? encoding
      return { body: list && encoding ? change(packed, list) : packed, ...(named && { encoding: named }) }
    })
  const path = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('/monitoring', '/monitoring/', '/monitoring?p=456') },
    fc.constantFrom('/monitoring?p=457', '/monitoring?o=1&p=456&r=us', '/monitoring?p=', '/elsewhere'),
  )
  const headers = fc.oneof(
    { weight: 8, arbitrary: fc.constant({}) },
    fc.constantFrom<Record<string, string>>(
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'cross-site', origin: 'https://elsewhere.example' },
      { 'x-culvert-retry': '1' },
      { 'x-forwarded-for': '203.0.113.7' },
    ),
  )
  return fc.tuple(encoded, path, headers).map(([{ body: bytes, encoding }, url, more]) => ({
    path: url,
    headers: { ...more, ...(encoding && { 'content-encoding': encoding }) },
    body: bytes,
  }))
}

function change(bytes: Buffer, list: readonly Change[]): Buffer {
  return list.reduce((changed, { at, removed, byte, inserted }) => {
    const place = changed.length === 0 ? 0 : at % changed.length
    return Buffer.concat([
      changed.subarray(0, place),
      Buffer.alloc(inserted, byte),
      changed.subarray(place + removed),
    ])
  }, bytes)
}
