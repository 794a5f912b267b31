/** Compressed bodies are unpacked in pieces, never beyond a bound. */

import { randomBytes } from 'node:crypto'
import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import {
  compress,
  type Encoding,
  encodingOf,
  readEncoding,
  recompress,
  unpack as unpackInPieces,
} from '../../../tunnel/src/body/decode.ts'
import { createMemory } from '../../../tunnel/src/body/memory-budget.ts'
import { Rejection } from '../../../tunnel/src/rejections.ts'
import { codeOf } from '../../support/rejection.ts'

const MIB = 1024 * 1024
const TEXT = Buffer.from('hello world '.repeat(20_000))
const PACK = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }
const PACKED = Object.entries(PACK) as ['gzip' | 'deflate' | 'br' | 'zstd', (bytes: Buffer) => Buffer][]

describe('Content-Encoding', () => {
  it.each<[string | undefined, Encoding]>([
    [undefined, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['utf-8', 'identity'],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    [' GZip ', 'gzip'],
    ['deflate', 'deflate'],
    ['br', 'br'],
    ['zstd', 'zstd'],
  ])('%j is read as %s', (header, encoding) => {
    expect(readEncoding(header)).toBe(encoding)
  })

  it.each(['compress', 'gzip, gzip', 'gzip;q=1', 'snappy', '*', 'constructor', '__proto__', 'valueOf'])(
    '%s is refused',
    (header) => {
      expect(codeOf(() => readEncoding(header))).toBe('encoding-unknown')
    },
  )
})

describe('A body', () => {
  it.each(PACKED)('in %s is unpacked to what it was', async (encoding, pack) => {
    expect((await unpack(pack(TEXT), encoding)).equals(TEXT)).toBe(true)
  })

  it.each(PACKED)(
    'in %s with more behind its end is refused or read whole, never in part',
    async (encoding, pack) => {
      const twice = unpack(Buffer.concat([pack(Buffer.from('hello ')), pack(Buffer.from('world'))]), encoding)
      expect(await twice.then(String, ({ code }) => code)).toMatch(/^(hello world|encoding-broken)$/)
      const junk = unpack(Buffer.concat([pack(TEXT), Buffer.from('JUNK')]), encoding)
      await expect(junk).rejects.toMatchObject({ code: 'encoding-broken' })
    },
  )

  it.each(PACKED)('in %s that is cut short is refused', async (encoding, pack) => {
    const packed = pack(TEXT)
    await expect(unpack(packed.subarray(0, packed.length - 5), encoding)).rejects.toMatchObject({
      code: 'encoding-broken',
    })
  })

  it.each(PACKED)('that only says it is in %s is refused', async (encoding) => {
    await expect(unpack(Buffer.from('{"event_id":null}\n'), encoding)).rejects.toMatchObject({
      code: 'encoding-broken',
    })
  })

  it('without a zlib header is not deflate, as for Relay', async () => {
    await expect(unpack(deflateRawSync(TEXT), 'deflate')).rejects.toBeInstanceOf(Rejection)
  })
})

describe('The memory of decoders', () => {
  it('rejects a zstd window above 8 MiB', async () => {
    const params = { [constants.ZSTD_c_windowLog]: 24 }
    const wide = zstdCompressSync(Buffer.alloc(20_000_000, 'x'), { params, pledgedSrcSize: undefined })
    expect(isWiderThan8Mib(wide)).toBe(true)
    await expect(unpack(wide, 'zstd')).rejects.toMatchObject({ code: 'encoding-broken' })
  })

  it.each(['br', 'zstd'] as const)('lets no more %s decoders run than the budget holds', async (encoding) => {
    const memory = createMemory(40 * MIB, 0)
    const bytes = PACK[encoding](TEXT)
    const running = [0, 1, 2, 3, 4, 5].map(() => unpackInPieces([bytes], encoding, memory))
    const begun = running.map((pieces) => pieces.next())
    await Promise.race(begun)
    expect(memory.taken()).toBeLessThanOrEqual(40 * MIB)
    for (const pieces of running) await pieces.return(undefined)
    await Promise.allSettled(begun)
    expect(memory.taken()).toBe(0)
  })

  it('rejects with tunnel-busy after 1 s without memory, and gives everything back', async () => {
    vi.useFakeTimers()
    const memory = createMemory(MIB, 0)
    const giveBack = await memory.borrow(MIB, 1)
    const refused = expect(unpack(PACK.br(TEXT), 'br', memory)).rejects.toMatchObject({ code: 'tunnel-busy' })
    await vi.advanceTimersByTimeAsync(1_000)
    await refused
    giveBack()
    expect(memory.taken()).toBe(0)
    vi.useRealTimers()
  })

  it('is given back when the bytes do not unpack', async () => {
    const memory = createMemory(64 * MIB, 0)
    await expect(unpack(Buffer.from('no'), 'br', memory)).rejects.toMatchObject({ code: 'encoding-broken' })
    expect(memory.taken()).toBe(0)
  })
})

describe('A body that is compressed again', () => {
  it.each(['runs', 'repeats', 'small'] as const)('unpacks to what was left of it, by %s', async (method) => {
    const memory = createMemory(64 * MIB, 0)
    const drop = async function* (chunks: AsyncIterable<Buffer>) {
      let first = true
      for await (const chunk of chunks) yield first ? chunk.subarray(6) : chunk
      first = false
    }
    const small = gzipSync(Buffer.from('hello world'))
    const again = Buffer.concat(await Array.fromAsync(recompress([small], 'gzip', drop, method, memory)))
    const unpacked = encodingOf(method) === 'br' ? brotliDecompressSync(again) : zstdDecompressSync(again)
    expect(String(unpacked)).toBe('world')
    expect(memory.taken()).toBe(0)
  })

  it('is about as small as it came, whatever it unpacks to', async () => {
    const memory = createMemory(64 * MIB, 0)
    const pieces = Array.from({ length: 104 }, () => Buffer.alloc(1_000_000))
    const again = await Array.fromAsync(compress(pieces, 'runs', memory))
    expect(Buffer.concat(again).length).toBeLessThan(1024)
  })

  it('is about as small as it came, however far apart its repeats are', async () => {
    const memory = createMemory(64 * MIB, 0)
    const noise = randomBytes(6_000_000)
    const again = await Array.fromAsync(compress([noise, noise, noise], 'repeats', memory))
    expect(Buffer.concat(again).length).toBeLessThan(noise.length * 1.01)
  })
})

async function unpack(wire: Buffer, encoding: Encoding, memory = createMemory(64 * MIB, 0)): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(unpackInPieces([wire], encoding, memory)))
}

/** Reads the window of a zstd frame from its descriptor (RFC 8878 §3.1.1.1.2). */
function isWiderThan8Mib(frame: Buffer): boolean {
  const isSingleSegment = ((frame[4] ?? 0) & 0x20) !== 0
  const exponent = (frame[5] ?? 0) >> 3
  return !isSingleSegment && 10 + exponent > 23
}
