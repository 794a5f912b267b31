/** Memory that a tunnel process takes for bodies that decompress to 1 GB. */

import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { constants, createZstdCompress, deflateRawSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { it as base } from '../../support/fixtures.ts'
import { perFile } from '../../support/lifetime.ts'
import { post } from '../../support/post.ts'
import { requires } from '../../support/requirements.ts'

const MIB = 1024 * 1024

const it = base.extend('tunnelOptions', perFile, ({ sentry }) => {
  return { env: { SENTRY_DSN: sentry.dsn(), MAX_ENVELOPE_BYTES: String(200 * MIB) } }
})

describe('A decompression bomb', requires('proc'), () => {
  it.for<[encoding: string, make: (dsn: string) => Buffer | Promise<Buffer>]>([
    ['gzip', gzipBomb],
    ['zstd', zstdBomb],
  ])(
    'in %s of 1 GB is rejected after 200 MiB, and four of them need less than 300 MiB',
    async ([encoding, make], { sentry, tunnel }) => {
      const bomb = await make(sentry.dsn())
      const before = peakMemory(tunnel.pid)
      const answers = await Promise.all(
        [1, 2, 3, 4].map(() => post(tunnel.url, { headers: { 'content-encoding': encoding }, body: bomb })),
      )
      for (const answer of answers)
        expect(answer).toMatchObject({ status: 413, json: { code: 'envelope-too-large' } })
      expect(peakMemory(tunnel.pid) - before).toBeLessThan(300 * MIB) // much of it garbage, on a busy machine 170 MiB
      expect(sentry.requests.filter((received) => received.body.equals(bomb))).toEqual([])
    },
  )
})

const startOfBomb = (dsn: string) => `{"dsn":"${dsn}"}\n{"type":"attachment"}\n`
const BOMB_PART = Buffer.alloc(16 * MIB, 'x')

/** Builds a well-formed envelope of 1 GB with one attachment. It has no gzip trailer, because no reader should reach it. */
function gzipBomb(dsn: string): Buffer {
  const header = Buffer.from('1f8b0800000000000003', 'hex')
  const block = (bytes: Buffer) => deflateRawSync(bytes, { finishFlush: constants.Z_FULL_FLUSH })
  return Buffer.concat([
    header,
    block(Buffer.from(startOfBomb(dsn))),
    ...Array<Buffer>(64).fill(block(BOMB_PART)),
  ])
}

async function zstdBomb(dsn: string): Promise<Buffer> {
  return buffer(
    Readable.from([startOfBomb(dsn), ...Array<Buffer>(64).fill(BOMB_PART)]).pipe(createZstdCompress()),
  )
}

/** Returns the peak of a process's resident memory in bytes. */
function peakMemory(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024
}
