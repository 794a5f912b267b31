/** A request body as it came over the wire, in memory while there is room and in a file on disk past that. */

import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Range } from './range.ts'
import { Rejection } from './rejection.ts'
import { type Encoding, readEncoding, unpacked } from './unpack.ts'

export type Body = {
  /** As it came, compressed or not: bytes in memory, or the open file that holds them. */
  wire: Buffer | FileHandle
  wireBytes: number
  encoding: Encoding
  /** Gives its memory back and removes its file. */
  release(): Promise<void>
}

export type BodySettings = {
  /** Bytes on the wire, and unpacked, past which a body is refused. */
  maxBytes: number
  /** Bytes that all bodies in hand may hold in memory together. */
  memoryBytes: number
  /** Bytes that one body may hold in memory. */
  shareBytes: number
  /** A folder on a disk (a tmpfs is memory that no RSS shows). */
  dir: string
  /** Milliseconds that a body may take to arrive. */
  timeoutMs: number
}

/** The sender left before the body was whole: no error, nobody waits for an answer (PROTOCOL §12, "unload"). */
export class Aborted extends Error {}

export type Bodies = {
  /** Reads a request to its end. Throws `Aborted`, or a `Rejection`. */
  receive(incoming: IncomingMessage): Promise<Body>
  /** Bytes held in memory now. */
  inMemory(): number
}

export function createBodies(settings: BodySettings): Bodies {
  let held = 0
  return { receive, inMemory: () => held }

  async function receive(incoming: IncomingMessage): Promise<Body> {
    const encoding = readEncoding(incoming.headers['content-encoding'])
    if (Number(incoming.headers['content-length']) > settings.maxBytes) throw tooLarge()
    const chunks: Buffer[] = []
    let [bytes, mine] = [0, 0]
    let file: FileHandle | undefined
    let released = false
    const release = async () => {
      released = true
      held -= mine
      mine = 0
      await file?.close()
    }
    try {
      await read(incoming, settings.timeoutMs, (chunk) => {
        bytes += chunk.length
        if (bytes > settings.maxBytes) throw tooLarge()
        if (file) return file.appendFile(chunk)
        chunks.push(chunk)
        mine += chunk.length
        held += chunk.length
        return bytes > settings.shareBytes || held > settings.memoryBytes ? spill() : undefined
      })
    } catch (error) {
      await release()
      throw error
    }
    const [only = Buffer.alloc(0)] = chunks
    return {
      wire: file ?? (chunks.length > 1 ? Buffer.concat(chunks, bytes) : only),
      wireBytes: bytes,
      encoding,
      release,
    }

    async function spill(): Promise<void> {
      const opened = await openWaiting(settings.dir)
      if (released) return opened.close() // the sender left meanwhile
      file = opened
      for (const chunk of chunks.splice(0)) await file.appendFile(chunk)
      held -= mine
      mine = 0
    }
  }

  function tooLarge(): Rejection {
    return new Rejection('envelope-too-large', `It is larger than ${settings.maxBytes} bytes.`)
  }
}

/** A file without a name, so that a process that dies leaves nothing behind. */
async function openWaiting(dir: string): Promise<FileHandle> {
  const path = join(dir, `body-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

/** Hands over each chunk in turn, holding the sender back while `take` works on one. */
function read(
  incoming: IncomingMessage,
  timeoutMs: number,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let working: Promise<void> | undefined
    const timer = setTimeout(() => finish(new Rejection('body-timeout')), timeoutMs)
    incoming.on('data', onData)
    incoming.on('end', onEnd)
    incoming.on('error', onGone)
    incoming.on('close', onGone)

    function onData(chunk: Buffer): void {
      try {
        working = take(chunk)
      } catch (error) {
        finish(error)
        return
      }
      if (!working) return
      incoming.pause()
      working.then(() => incoming.resume(), finish)
    }
    function onEnd(): void {
      incoming.off('close', onGone) // all of it is here, though the last of it may still be on its way to the disk
      if (working) working.then(() => finish(undefined), finish)
      else finish(undefined)
    }
    function onGone(): void {
      finish(new Aborted())
    }
    function finish(error: unknown): void {
      clearTimeout(timer)
      incoming.off('data', onData)
      incoming.off('end', onEnd)
      incoming.off('close', onGone)
      if (error) reject(error)
      else resolve()
    }
  })
}

/** The body's bytes as they came, from the first. */
export function wireChunks({ wire }: Body): Iterable<Buffer> | AsyncIterable<Buffer> {
  return Buffer.isBuffer(wire) ? [wire] : createReadStream('', { fd: wire, start: 0, autoClose: false })
}

/** What goes to Sentry: bytes to send, how many, and their Content-Encoding if they are compressed. */
export type Parcel = { content: () => Buffer | Readable; bytes: number; encoding: Encoding }

/** The body without the ranges in `cuts` (of its unpacked bytes, in order); as it came when there are none. */
export function packParcel(body: Body, unpackedBytes: number, cuts: readonly Range[]): Parcel {
  const { wire, wireBytes, encoding } = body
  if (cuts.length > 0) return packPlain(body, unpackedBytes, cuts)
  return {
    content: () => (Buffer.isBuffer(wire) ? wire : Readable.from(wireChunks(body))),
    bytes: wireBytes,
    encoding,
  }
}

/** The same, never compressed: what waits may have to be changed before it leaves. */
export function packPlain(body: Body, unpackedBytes: number, cuts: readonly Range[]): Parcel {
  const { wire, encoding } = body
  const bytes = unpackedBytes - cuts.reduce((sum, [start, end]) => sum + end - start, 0)
  if (!Buffer.isBuffer(wire) || encoding !== 'identity')
    return {
      content: () => Readable.from(without(unpacked(body), cuts), { objectMode: false }),
      bytes,
      encoding: 'identity',
    }
  const kept = cuts.length === 0 ? wire : Buffer.concat([...pieces(wire, 0, cuts)], bytes)
  return { content: () => kept, bytes, encoding }
}

/** A parcel's bytes in pieces, from the first on. */
export function chunksOf({ content }: Parcel): Iterable<Buffer> | AsyncIterable<Buffer> {
  const bytes = content()
  return Buffer.isBuffer(bytes) ? [bytes] : bytes
}

async function* without(chunks: AsyncIterable<Buffer>, cuts: readonly Range[]): AsyncGenerator<Buffer> {
  let offset = 0
  for await (const chunk of chunks) {
    yield* pieces(chunk, offset, cuts)
    offset += chunk.length
  }
}

/** What of a chunk that stands at `offset` lies outside every cut. */
function* pieces(chunk: Buffer, offset: number, cuts: readonly Range[]): Generator<Buffer> {
  let from = 0
  for (const [start, end] of cuts) {
    if (end <= offset + from || start >= offset + chunk.length) continue
    if (start > offset + from) yield chunk.subarray(from, start - offset)
    from = Math.min(chunk.length, end - offset)
  }
  if (from < chunk.length) yield chunk.subarray(from)
}
