/** Compressed bodies are unpacked in pieces, never beyond a bound. */

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Body } from '../../tunnel/src/body.ts'
import { Rejection } from '../../tunnel/src/rejection.ts'
import { type Encoding, readEncoding, unpackInto } from '../../tunnel/src/unpack.ts'
import { codeOf } from '../helpers/refused.ts'

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

  it.each(PACKED)('in %s goes as far as its bound and no further', async (encoding, pack) => {
    expect(await unpack(pack(TEXT), encoding, TEXT.length)).toHaveLength(TEXT.length)
    await expect(unpack(pack(TEXT), encoding, TEXT.length - 1)).rejects.toMatchObject({
      code: 'envelope-too-large',
    })
  })

  it('without a zlib header is not deflate, as for Relay', async () => {
    await expect(unpack(deflateRawSync(TEXT), 'deflate')).rejects.toBeInstanceOf(Rejection)
  })

  it.each(PACKED)('in %s that is refused by its reader goes no further', async (encoding, pack) => {
    const stop = new Rejection('not-an-envelope')
    const unpacking = unpackInto(bodyOf(pack(TEXT), encoding), TEXT.length, () => {
      throw stop
    })
    await expect(unpacking).rejects.toBe(stop)
  })
})

async function unpack(wire: Buffer, encoding: Encoding, maxBytes = Number.MAX_SAFE_INTEGER): Promise<Buffer> {
  const chunks: Buffer[] = []
  await unpackInto(bodyOf(wire, encoding), maxBytes, (chunk) => void chunks.push(Buffer.from(chunk)))
  return Buffer.concat(chunks)
}

function bodyOf(wire: Buffer, encoding: Encoding): Body {
  return { wire: [wire], wireBytes: wire.length, encoding, release: async () => {} }
}
