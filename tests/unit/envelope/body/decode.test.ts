/** Decompression in chunks, within a memory budget. */

import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import {
  brotliCompressSync,
  constants,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { Rejection } from '../../../../contract/rejections.ts'
import {
  decompress,
  type Encoded,
  type Encoding,
  type Rewriting,
  readEncoding,
  rewrite,
} from '../../../../tunnel/src/envelope/body/decode.ts'
import { MemoryBudget } from '../../../../tunnel/src/envelope/body/memory-budget.ts'
import { codeOf } from '../../../support/rejection.ts'

const MIB = 1024 * 1024
const TEXT = Buffer.from('hello world '.repeat(20_000))
const PACK = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }
const PACKED = Object.entries(PACK) as ['gzip' | 'deflate' | 'br' | 'zstd', (bytes: Buffer) => Buffer][]

const REWRITING = {
  removedRanges: [],
  decompressedBytes: TEXT.length,
  waitMs: 1_000,
}
const WIDEST_BR = brotliCompressSync(Buffer.alloc(20_000_000, 'x'), {
  params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 5 },
})
const WIDEST_ZSTD = await zstdStream({ [constants.ZSTD_c_windowLog]: 23 })

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
    '%s is rejected with encoding-unknown',
    (header) => {
      expect(codeOf(() => readEncoding(header))).toBe('encoding-unknown')
    },
  )
})

describe('A compressed body', () => {
  it.each(PACKED)('in %s is decompressed to the original bytes', async (encoding, pack) => {
    expect((await unpack(pack(TEXT), encoding)).equals(TEXT)).toBe(true)
  })

  it.each(PACKED)('in %s with bytes after its end is rejected or read completely', async (encoding, pack) => {
    const twice = unpack(Buffer.concat([pack(Buffer.from('hello ')), pack(Buffer.from('world'))]), encoding)
    expect(await twice.then(String, ({ code }) => code)).toMatch(/^(hello world|encoding-broken)$/)
    const junk = unpack(Buffer.concat([pack(TEXT), Buffer.from('JUNK')]), encoding)
    await expect(junk).rejects.toMatchObject({ code: 'encoding-broken' })
  })

  it.each(PACKED)('in %s that is truncated is rejected', async (encoding, pack) => {
    const packed = pack(TEXT)
    await expect(unpack(packed.subarray(0, packed.length - 5), encoding)).rejects.toMatchObject({
      code: 'encoding-broken',
    })
  })

  it.each(PACKED)('that is declared as %s but is not compressed is rejected', async (encoding) => {
    await expect(unpack(Buffer.from('{"event_id":null}\n'), encoding)).rejects.toMatchObject({
      code: 'encoding-broken',
    })
  })

  it('in raw deflate without a zlib header is rejected, as by Relay', async () => {
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

  it.each([
    ['br', WIDEST_BR],
    ['zstd', WIDEST_ZSTD],
  ] as const)(
    'does not exceed the memory budget when six %s bodies are decompressed at the same time',
    async (encoding, bytes) => {
      const memory = new MemoryBudget(40 * MIB, 0)
      const running = [0, 1, 2, 3, 4, 5].map(() => decompress(encodedOf(bytes, encoding), memory))
      const begun = running.map((pieces) => pieces.next())
      await Promise.race(begun)
      expect(memory.usedBytes()).toBeGreaterThan(30 * MIB)
      expect(memory.usedBytes()).toBeLessThanOrEqual(40 * MIB)
      for (const pieces of running) await pieces.return(undefined)
      await Promise.allSettled(begun)
      expect(memory.usedBytes()).toBe(0)
    },
  )

  it('is at least the window size that the body declares', async () => {
    const windowOf = async (bytes: Buffer, encoding: Encoding) => {
      const memory = new MemoryBudget(64 * MIB, 0)
      const pieces = decompress(encodedOf(bytes, encoding), memory)
      await pieces.next()
      const taken = memory.usedBytes()
      await pieces.return(undefined)
      return taken / MIB - 0.25
    }
    const brotli = (log: number) =>
      brotliCompressSync(TEXT, { params: { [constants.BROTLI_PARAM_LGWIN]: log } })
    const zstd = (log: number) => zstdStream({ [constants.ZSTD_c_windowLog]: log })
    for (const log of [16, 17, 18, 20, 22, 24])
      expect(await windowOf(brotli(log), 'br')).toBeGreaterThanOrEqual(2 ** (log - 20))
    expect(await windowOf(brotli(22), 'br')).toBe(4)
    expect(await windowOf(await zstd(20), 'zstd')).toBe(2)
    expect(await windowOf(await zstd(23), 'zstd')).toBe(8)
    expect(await windowOf(PACK.gzip(TEXT), 'gzip')).toBe(0)
  })

  it('is rejected with tunnel-busy after 1 s without free memory, and nothing stays reserved', async () => {
    vi.useFakeTimers()
    const memory = new MemoryBudget(MIB, 0)
    const giveBack = await memory.acquire(MIB, 1)
    const refused = expect(unpack(PACK.br(TEXT), 'br', memory)).rejects.toMatchObject({ code: 'tunnel-busy' })
    await vi.advanceTimersByTimeAsync(1_000)
    await refused
    giveBack()
    expect(memory.usedBytes()).toBe(0)
    vi.useRealTimers()
  })

  it('is released when decompression fails', async () => {
    const memory = new MemoryBudget(64 * MIB, 0)
    await expect(unpack(Buffer.from('no'), 'br', memory)).rejects.toMatchObject({ code: 'encoding-broken' })
    expect(memory.usedBytes()).toBe(0)
  })
})

describe('A body that is encoded again', () => {
  it.each(PACKED)('in %s contains the bytes that were not removed', async (encoding, pack) => {
    const memory = new MemoryBudget(64 * MIB, 0)
    const rewriting: Rewriting = { ...REWRITING, removedRanges: [[0, 6]], encoding }
    const small = encodedOf(pack(Buffer.from('hello world')), encoding)
    const again = Buffer.concat(await Array.fromAsync(rewrite(small, rewriting, memory)))
    expect(String(await unpack(again, encoding))).toBe('world')
    expect(memory.usedBytes()).toBe(0)
  })

  it.each(PACKED)('in %s stays small when it consists of runs and repetitions', async (encoding) => {
    const noise = randomBytes(encoding === 'br' || encoding === 'zstd' ? MIB / 2 : 10_000)
    const repeated = Array.from({ length: 100 }, () => noise)
    for (const pieces of [Array.from({ length: 50 }, () => Buffer.alloc(MIB)), repeated]) {
      const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
      const plain: Encoded = { content: () => pieces, encoding: 'identity', head: Buffer.alloc(0) }
      const rewriting: Rewriting = { ...REWRITING, encoding, decompressedBytes: bytes }
      const again = Buffer.concat(
        await Array.fromAsync(rewrite(plain, rewriting, new MemoryBudget(64 * MIB, 0))),
      )
      expect(again.length).toBeLessThan(bytes / 20)
    }
  })
})

async function unpack(
  wire: Buffer,
  encoding: Encoding,
  memory = new MemoryBudget(64 * MIB, 0),
): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(decompress(encodedOf(wire, encoding), memory)))
}

function encodedOf(bytes: Buffer, encoding: Encoding): Encoded {
  return { content: () => [bytes], encoding, head: bytes.subarray(0, 16) }
}

/** Builds a zstd frame of unknown length, which contains its window size. */
function zstdStream(params: Record<number, number>): Promise<Buffer> {
  const compressor = createZstdCompress({ params })
  compressor.write(TEXT)
  compressor.end()
  return buffer(compressor)
}

/** Reads the window of a zstd frame from its descriptor (RFC 8878 §3.1.1.1.2). */
function isWiderThan8Mib(frame: Buffer): boolean {
  const isSingleSegment = ((frame[4] ?? 0) & 0x20) !== 0
  const exponent = (frame[5] ?? 0) >> 3
  return !isSingleSegment && 10 + exponent > 23
}
