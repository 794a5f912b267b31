/** Bodies that no single message can hold: numbered parts, named by the message that is published after all of them. */

import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { SpoolBody } from '../spool.ts'
import { ENVELOPES, PARTS, partSubjectOf, STREAM, uploadOf } from './codec.ts'

export type Parts = {
  /** Resolves to the messages' numbers when all of them are on disk. */
  write(upload: string, body: SpoolBody): Promise<number[]>
  read(numbers: readonly number[]): Readable
  remove(upload: string): Promise<void>
  /** Removes what a putter that died left behind. */
  sweep(): Promise<void>
}

const ORPHAN_MS = 10 * 60 * 1000 // 10 min, longer than any body takes to be put

export function newUpload(now: number): string {
  return `${now.toString(36)}_${randomBytes(8).toString('hex')}`
}

export function openParts(
  jsm: JetStreamManager,
  publish: (subject: string, bytes: Buffer) => Promise<number>,
  partBytes: number,
  now: () => number,
): Parts {
  return { write, read: (numbers) => Readable.from(readAll(numbers), { objectMode: false }), remove, sweep }

  async function write(upload: string, body: SpoolBody): Promise<number[]> {
    const numbers: number[] = []
    for await (const part of cut(body.chunks(), partBytes))
      numbers.push(await publish(partSubjectOf(upload), part))
    return numbers
  }

  async function* readAll(numbers: readonly number[]): AsyncGenerator<Uint8Array> {
    for (const seq of numbers) {
      const part = await jsm.streams.getMessage(STREAM, { seq })
      if (!part) throw new Error('a part of it is gone: another replica has settled it')
      yield part.data
    }
  }

  async function remove(upload: string): Promise<void> {
    await jsm.streams.purge(STREAM, { filter: partSubjectOf(upload) })
  }

  async function sweep(): Promise<void> {
    const old = (await uploadsIn(PARTS)).filter((upload) => startOf(upload) < now() - ORPHAN_MS)
    if (old.length === 0) return
    const named = new Set(await uploadsIn(ENVELOPES))
    await Promise.all(old.filter((upload) => !named.has(upload)).map(remove))
  }

  async function uploadsIn(filter: string): Promise<string[]> {
    const { state } = await jsm.streams.info(STREAM, { subjects_filter: filter })
    return Object.keys(state.subjects ?? {}).flatMap((subject) => uploadOf(subject) ?? [])
  }
}

/** When it began, by the clock of the replica that did it, in milliseconds since 1970. */
function startOf(upload: string): number {
  return Number.parseInt(upload, 36) // up to the underscore
}

/** The same bytes in pieces of `size`, the last one shorter. */
async function* cut(pieces: Iterable<Buffer> | AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let length = 0
  for await (const piece of pieces) {
    held.push(piece)
    length += piece.length
    if (length < size) continue
    let all = Buffer.concat(held)
    for (; all.length >= size; all = all.subarray(size)) yield all.subarray(0, size)
    held = [all]
    length = all.length
  }
  if (length > 0) yield Buffer.concat(held)
}
