/** Adversarial requests for the tunnel, generated from a seed. Large bodies exist only in compressed form. */

import { once } from 'node:events'
import type { Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import {
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  gzipSync,
} from 'node:zlib'

export type Attack = {
  name: string
  headers: Record<string, string>
  body: Buffer
  /** Bytes at the end of the body that are never sent. */
  withheldBytes?: number
  /** Sends one byte every 50 ms. */
  isTrickle?: boolean
  /** A 2xx response is allowed too. */
  isValid?: boolean
}

/** DSN that the tunnel accepts, and one of another project. */
export type Dsns = { valid: string; foreign: string }

/** Attack that is built when the DSNs are known. */
export type Entry = { name: string; build: (dsns: Dsns) => Promise<Attack> }

/** Header of an envelope. */
type Header = Record<string, string>

const ENCODINGS = ['gzip', 'deflate', 'br', 'zstd'] as const
type Encoding = (typeof ENCODINGS)[number]

const MB = 1_000_000
const BOMB_BYTES = 104 * MB // just below MAX_ENVELOPE_BYTES
const LINE_BYTES = 64_000 // just below HEADER_BYTES
const EVENT_BYTES = 1_048_000 // just below the largest event
const RESERVED = { forwarded_for: '192.0.2.1' } // a key that only Relay may write: the tunnel removes it

/** Compressors with the largest window of each format. */
const COMPRESSORS: Record<Encoding, () => Transform> = {
  gzip: () => createGzip({ level: 9, windowBits: 15 }),
  deflate: () => createDeflate({ level: 9, windowBits: 15 }),
  br: () =>
    createBrotliCompress({
      params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 24 },
    }),
  zstd: () =>
    createZstdCompress({
      params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 27 },
    }),
}

/** Brotli windows of up to 1 GiB, an extension that few decoders accept. */
const createLargeBrotli = () =>
  createBrotliCompress({
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 5,
      [constants.BROTLI_PARAM_LARGE_WINDOW]: 1,
      [constants.BROTLI_PARAM_LGWIN]: 30,
    },
  })

/** Builds members of a JSON object, `"k":v,…`, of about `bytes`. */
type Shape = (bytes: number, random: Random) => string

/** Shapes that are expensive for a JSON parser: many values, many keys, depth, long and escaped strings. */
const SHAPES: Record<string, Shape> = {
  'empty objects': (bytes) => `"x":[${repeat('{}', bytes)}]`,
  numbers: (bytes) => `"x":[${repeat('0.1', bytes)}]`,
  'deep arrays': (bytes) => `"x":${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
  'deep objects': (bytes) => `"x":${'{"x":'.repeat(bytes / 6)}0${'}'.repeat(bytes / 6)}`,
  'a long string': (bytes) => `"x":"${'a'.repeat(bytes)}"`,
  'escaped quotes': (bytes) => `"x":"${'\\"'.repeat(bytes / 2)}"`,
  'unicode escapes': (bytes) => `"x":"${'\\u0001'.repeat(bytes / 6)}"`,
  'wide characters': (bytes) => `"x":"${'\u{1F600}'.repeat(bytes / 4)}"`,
  'distinct keys': (bytes, random) =>
    distinctKeys(bytes, (i) => `k${i.toString(36)}${random(36).toString(36)}`),
  'distinct escaped keys': (bytes) => distinctKeys(bytes, (i) => `\\u006b${i.toString(36)}`),
  'repeated keys': (bytes) => repeat('"a":0', bytes),
  'random JSON': randomMembers,
}

/** All entries. Each is built when it is needed: its body differs with the DSNs. */
export function createCorpus(seed = 1): Entry[] {
  return [...PROVEN, ...headers(seed), ...events(seed), ...bombs(), ...streams(), ...tight(), ...HELD]
}

/** Returns one entry. Throws when the name is unknown. */
export function findEntry(name: string): Entry {
  const found = createCorpus().find((each) => each.name === name)
  if (!found) throw new Error(`${name} is not in the corpus`)
  return found
}

/** Attacks that have succeeded once, in that form. */
export const PROVEN: readonly Entry[] = [
  itemHeaders('1,000 item headers of empty objects, no DSN', 'empty objects', none),
  itemHeaders('1,000 item headers of empty objects', 'empty objects', valid),
  itemHeaders('1,000 item headers of distinct keys', 'distinct keys', valid),
  entry('zstd window of 128 MiB, foreign DSN', 'zstd', (dsns) => bomb(foreign(dsns))),
  entry('zstd window of 128 MiB', 'zstd', (dsns) => bomb(valid(dsns)), { isValid: true }),
  entry('ratio bomb with a reserved key', 'br', (dsns) => bomb({ ...valid(dsns), ...RESERVED }), {
    isValid: true,
  }),
]

/** Uploads that do not end: the tunnel holds their bytes until its deadline. */
export const HELD: readonly Entry[] = [
  entry('zstd bomb without its last bytes', 'zstd', (dsns) => bomb(valid(dsns)), { withheldBytes: 4 }),
  entry('br bomb without its last bytes', 'br', (dsns) => bomb(valid(dsns)), { withheldBytes: 4 }),
  entry('zstd bomb, one byte at a time', 'zstd', (dsns) => bomb(valid(dsns)), { isTrickle: true }),
  {
    name: 'half-open upload',
    build: async (dsns) => ({
      name: 'half-open upload',
      headers: {},
      body: Buffer.alloc(60_000, `{"dsn":"${dsns.valid}"}\n{"type":"attachment"}\n`),
      withheldBytes: 30_000,
    }),
  },
]

/** Builds each shape in the header of the envelope, and in the headers of 300 items. */
function headers(seed: number): Entry[] {
  const shaped = Object.entries(SHAPES).flatMap(([name, shape]) => [
    entry(
      `${name} in the envelope header`,
      'gzip',
      (dsns) => [
        Buffer.from(
          `{"dsn":"${dsns.valid}",${shape(LINE_BYTES, createRandom(seed))}}\n{"type":"event","length":2}\n{}\n`,
        ),
      ],
      { isValid: true },
    ),
    entry(
      `${name} in 300 item headers`,
      'br',
      (dsns) => itemLines(valid(dsns), `{"type":"a",${shape(LINE_BYTES, createRandom(seed))}}`, 300),
      { isValid: true },
    ),
  ])
  return [
    ...shaped,
    entry('1,000,000 items', 'br', (dsns) => itemLines(valid(dsns), '{"type":"a"}', 1_000_000)),
    entry('20 MB of blank lines', 'br', (dsns) => filled(`{"dsn":"${dsns.valid}"}\n`, 20 * MB, '\n')),
    entry('a first line of 100 MB', 'br', () => filled('{"x":"', 100 * MB, 'a')),
    entry('100 MB of blanks and no first line', 'br', () => filled('', 100 * MB, ' ')),
  ]
}

/** Builds each shape as the payload of an event that the filters read. */
function events(seed: number): Entry[] {
  return Object.entries(SHAPES).map(([name, shape]) =>
    entry(
      `event of 1 MB: ${name}`,
      'gzip',
      (dsns) => {
        const payload = `{"message":"NEXT_REDIRECT",${shape(EVENT_BYTES, createRandom(seed))}}`
        const item = { type: 'event', length: Buffer.byteLength(payload) }
        return [Buffer.from(`{"dsn":"${dsns.valid}"}\n${JSON.stringify(item)}\n${payload}\n`)]
      },
      { isValid: true },
    ),
  )
}

/** 104 MB in 135 bytes to 100 KB: every encoding with and without a reserved key, and each kind of DSN. */
function bombs(): Entry[] {
  const crossed = ENCODINGS.flatMap((encoding) =>
    [{}, RESERVED].map((reserved) =>
      entry(
        `${encoding} bomb, valid DSN${reserved === RESERVED ? ', reserved key' : ''}`,
        encoding,
        (dsns) => bomb({ ...valid(dsns), ...reserved }),
        { isValid: true },
      ),
    ),
  )
  return [
    ...crossed,
    entry('br bomb, foreign DSN', 'br', (dsns) => bomb(foreign(dsns))),
    entry('gzip bomb, no DSN', 'gzip', () => bomb(none())),
    entry('br bomb of 300 MB', 'br', (dsns) => bomb(valid(dsns), 300 * MB)),
    entry('zstd bomb of 300 MB', 'zstd', (dsns) => bomb(valid(dsns), 300 * MB)),
    entry('br bomb with a window of 1 GiB', 'br', (dsns) => bomb(valid(dsns)), {}, createLargeBrotli),
  ]
}

/** Streams that do not match their header. */
function streams(): Entry[] {
  return ENCODINGS.flatMap((encoding) => {
    const changed = (name: string, change: (body: Buffer) => Buffer, declared: string = encoding): Entry => ({
      name: `${encoding} stream, ${name}`,
      build: async (dsns) => ({
        name: `${encoding} stream, ${name}`,
        headers: { 'content-encoding': declared },
        body: change(await compress(COMPRESSORS[encoding](), bomb(valid(dsns)))),
      }),
    })
    return [
      changed('truncated', (body) => body.subarray(0, body.length >> 1)),
      changed('trailing garbage', (body) => Buffer.concat([body, Buffer.from('garbage')])),
      changed('twice', (body) => Buffer.concat([body, body])),
      changed('inside gzip', (body) => gzipSync(body), 'gzip'),
      changed('inside gzip, declared', (body) => gzipSync(body), `${encoding}, gzip`),
    ]
  })
}

/** Payloads and compressors whose result another compressor hardly matches. */
const TIGHT: Record<string, [encoding: Encoding, payload: () => Buffer, compressor: () => Transform]> = {
  'text in the highest br quality': [
    'br',
    text,
    () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  ],
  'text in the highest zstd level': [
    'zstd',
    text,
    () => createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 19 } }),
  ],
  'br, 6 MB twice': [
    'br',
    blockTwice,
    () =>
      createBrotliCompress({
        params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 },
      }),
  ],
  'zstd, 6 MB twice': [
    'zstd',
    blockTwice,
    () =>
      createZstdCompress({
        params: {
          [constants.ZSTD_c_compressionLevel]: 5,
          [constants.ZSTD_c_windowLog]: 23,
          [constants.ZSTD_c_enableLongDistanceMatching]: 1,
        },
      }),
  ],
}

/** Bodies that the tunnel may have to compress again, after a change or from the spool. */
function tight(): Entry[] {
  const isValid = true
  const each = Object.entries(TIGHT).flatMap(([name, [encoding, payload, compressor]]) => [
    entry(name, encoding, (dsns) => attachment(valid(dsns), payload()), { isValid }, compressor),
    entry(
      `${name}, reserved key`,
      encoding,
      (dsns) => attachment({ ...valid(dsns), ...RESERVED }, payload()),
      { isValid },
      compressor,
    ),
  ])
  const lines = entry(
    '1,000 item headers with a reserved key',
    'br',
    (dsns) => itemLines(valid(dsns), '{"type":"a","sampled":true}', 1_000),
    { isValid },
  )
  return [...each, lines]
}

function text(): Buffer {
  return Buffer.from(randomMembers(MB, createRandom(1)))
}

function blockTwice(): Buffer {
  const block = randomBlock(6 * MB)
  return Buffer.concat([block, block])
}

function attachment(header: Header, payload: Buffer): Buffer[] {
  const item = { type: 'attachment', length: payload.length }
  return [Buffer.from(`${JSON.stringify(header)}\n${JSON.stringify(item)}\n`), payload]
}

/** Bytes that cannot be compressed. */
function randomBlock(bytes: number): Buffer {
  const random = createRandom(7)
  const block = Buffer.alloc(bytes)
  for (let at = 0; at + 4 <= bytes; at += 4) block.writeUInt32LE(random(2 ** 32), at)
  return block
}

/** Valid envelope near the size limit: incompressible, like a minidump or a video. */
export function* largeBody(dsn: string, bytes = 99 * MB): Generator<Buffer> {
  const block = randomBlock(65_536)
  yield Buffer.from(`{"dsn":"${dsn}"}\n{"type":"attachment","length":${bytes},"filename":"a.bin"}\n`)
  for (let at = 0; at < bytes; at += block.length) yield block.subarray(0, Math.min(block.length, bytes - at))
}

function valid(dsns: Dsns): Header {
  return { dsn: dsns.valid }
}

function foreign(dsns: Dsns): Header {
  return { dsn: dsns.foreign }
}

function none(): Header {
  return {}
}

function itemHeaders(name: string, shape: string, dsnOf: (dsns: Dsns) => Header): Entry {
  const members = SHAPES[shape]?.(LINE_BYTES, createRandom(1))
  return entry(name, 'br', (dsns) => itemLines(dsnOf(dsns), `{"type":"a",${members}}`, 1_000))
}

function entry(
  name: string,
  encoding: Encoding,
  content: (dsns: Dsns) => Iterable<Buffer>,
  rest: Pick<Attack, 'isValid' | 'withheldBytes' | 'isTrickle'> = {},
  compressor = COMPRESSORS[encoding],
): Entry {
  return {
    name,
    build: async (dsns) => ({
      name,
      headers: { 'content-encoding': encoding },
      body: await compress(compressor(), content(dsns)),
      ...rest,
    }),
  }
}

/** Compresses without a known size: the stream then contains its window size. */
async function compress(compressor: Transform, content: Iterable<Buffer>): Promise<Buffer> {
  const result = buffer(compressor)
  for (const chunk of content) if (!compressor.write(chunk)) await once(compressor, 'drain')
  compressor.end()
  return result
}

/** Builds an envelope with one attachment of zeros. */
function* bomb(header: Header, bytes = BOMB_BYTES): Generator<Buffer> {
  yield Buffer.from(`${JSON.stringify(header)}\n{"type":"attachment","length":${bytes}}\n`)
  yield* zeros(bytes, 0)
}

function* filled(start: string, bytes: number, fill: string): Generator<Buffer> {
  yield Buffer.from(start)
  yield* zeros(bytes, fill)
}

function* zeros(bytes: number, fill: string | number): Generator<Buffer> {
  const block = Buffer.alloc(MB, fill)
  for (let at = 0; at < bytes; at += MB) yield block.subarray(0, Math.min(MB, bytes - at))
}

/** Builds an envelope of `count` empty items with the same header. */
function* itemLines(header: Header, line: string, count: number): Generator<Buffer> {
  yield Buffer.from(`${JSON.stringify(header)}\n`)
  const several = Math.max(1, Math.floor(MB / line.length))
  const block = Buffer.from(`${line}\n\n`.repeat(several))
  for (let left = count; left > 0; left -= several)
    yield left >= several ? block : Buffer.from(`${line}\n\n`.repeat(left))
}

function repeat(value: string, bytes: number): string {
  const count = Math.floor(bytes / (value.length + 1))
  return `${`${value},`.repeat(count - 1)}${value}`
}

function distinctKeys(bytes: number, key: (i: number) => string): string {
  const members: string[] = []
  for (let [i, length] = [0, 0]; length < bytes - 20; i++) {
    const member = `"${key(i)}":0`
    members.push(member)
    length += member.length + 1
  }
  return members.join()
}

/** Returns a whole number below `below`. */
export type Random = (below: number) => number

/** Creates a mulberry32 generator: the same numbers for the same seed on every machine. */
export function createRandom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below)
  }
}

function randomMembers(bytes: number, random: Random): string {
  const members: string[] = []
  for (let [i, length] = [0, 0]; length < bytes - 400; i++) {
    const member = `"${i}${'x'.repeat(random(8))}":${randomValue(random, 4)}`
    members.push(member)
    length += member.length + 1
  }
  return members.join()
}

const SCALARS = ['null', 'true', '0', '-1.5e300', '""', '"\\u0000\\ud800"', '"a"', '[]', '{}']

function randomValue(random: Random, depth: number): string {
  const kind = depth === 0 ? 0 : random(4)
  if (kind < 2) return SCALARS[random(SCALARS.length)] ?? '0'
  const values = Array.from({ length: random(3) }, () => randomValue(random, depth - 1))
  return kind === 2 ? `[${values}]` : `{${values.map((value, i) => `"${i}":${value}`)}}`
}
