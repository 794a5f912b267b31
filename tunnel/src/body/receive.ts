/** A request body as it came over the wire, in memory while there is room and in a file on disk past that. */

import { randomUUID } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { access, type FileHandle, mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { Rejection } from '../rejections.ts'
import { createTimeouts, type Timeouts } from '../timer-queue.ts'
import {
  type Encoded,
  type Encoding,
  encodingOf,
  type Rewriting,
  readEncoding,
  rewrite,
  unpack,
} from './decode.ts'
import type { MemoryBudget } from './memory-budget.ts'

export type Body = {
  /** As it came, compressed or not: the pieces in memory, or the file that holds them. */
  wire: Pieces | WaitingFile
  wireBytes: number
  encoding: Encoding
  /** Its first bytes, when it is compressed. */
  head: Buffer
  /** Its bytes without their encoding, in pieces. Throws a `Rejection` when they do not unpack, or there is no memory for it. */
  unpacked(): AsyncGenerator<Buffer>
  /** Gives its memory back and removes its file. */
  release(): Promise<void> | undefined
}

/** Bytes as they came, one after the other: putting large ones together would copy them and give the garbage collector twice as much to do. */
export type Pieces = readonly Buffer[]

/** A body on disk, for as long as it is not released. */
export type WaitingFile = { path: string; handle: FileHandle }

export type BodySettings = {
  /** Bytes on the wire, and unpacked, past which a body is refused. */
  maxBytes: number
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
  /**
   * Reads a request to its end. A body that is not compressed is handed to `look` in pieces as it comes, so that what is no envelope
   * is refused before it is whole. Throws `Aborted`, a `Rejection`, or what `look` throws.
   */
  receive(incoming: IncomingMessage, look: (chunk: Buffer) => void): Promise<Body>
  /** Makes a body of its own of what is left of another. `undefined` when it is larger than `maxBytes`; throws as `rewrite` of the decoders does. */
  rewrite(encoded: Encoded, rewriting: Rewriting, maxBytes: number): Promise<Body | undefined>
}

const HEAD_BYTES = 16 // which say how large a window is
const WRITTEN_AT_ONCE = 512 * 1024 // a write for each 64 KiB that a socket gives would be mostly overhead

export function createBodies(settings: BodySettings, memory: MemoryBudget): Bodies {
  const timeouts = createTimeouts(settings.timeoutMs)
  return { receive, rewrite: rewriteWithin }

  function receive(incoming: IncomingMessage, look: (chunk: Buffer) => void): Promise<Body> {
    return new Promise((resolve, reject) => {
      read(incoming, timeouts, createReading(incoming, look), { resolve, reject })
    })
  }

  function createReading(incoming: IncomingMessage, look: (chunk: Buffer) => void): Reading<Body> {
    const encoding = readEncoding(incoming.headers['content-encoding'])
    const announced = Number(incoming.headers['content-length'] ?? 0)
    if (announced > settings.maxBytes) throw tooLarge()
    const store = createStore(encoding, announced)
    return { take, finish: store.finish, fail: store.release }

    function take(chunk: Buffer): Promise<void> | undefined {
      if (store.bytes() + chunk.length > settings.maxBytes) throw tooLarge()
      if (encoding === 'identity') look(chunk)
      return store.add(chunk)
    }
  }

  async function rewriteWithin(
    encoded: Encoded,
    rewriting: Rewriting,
    maxBytes: number,
  ): Promise<Body | undefined> {
    const { method } = rewriting
    const store = createStore(method === 'plain' ? 'identity' : encodingOf(method), 0)
    try {
      for await (const chunk of rewrite(encoded, rewriting, memory)) {
        if (store.bytes() + chunk.length > maxBytes) {
          await store.release()
          return undefined
        }
        await store.add(chunk)
      }
      return await store.finish()
    } catch (error) {
      await store.release()
      throw error
    }
  }

  /** Bytes of one body as they come: in memory, or in a file past a share of it. */
  function createStore(encoding: Encoding, announced: number): Store {
    let chunks: Buffer[] = []
    let [bytes, mine] = [0, 0]
    let head: Buffer = Buffer.alloc(0)
    let file: WaitingFile | undefined
    let released = false
    return { bytes: () => bytes, add, finish, release }

    function add(chunk: Buffer): Promise<void> | undefined {
      if (bytes === 0 && encoding !== 'identity') head = Buffer.from(chunk.subarray(0, HEAD_BYTES))
      bytes += chunk.length
      chunks.push(chunk)
      mine += chunk.length
      memory.reserve(chunk.length)
      if (file) return mine > WRITTEN_AT_ONCE ? writeOut(file) : undefined
      return Math.max(bytes, announced) > settings.shareBytes || memory.isExceeded() ? spill() : undefined
    }

    function finish(): Body | Promise<Body> {
      if (file) return writeOut(file).then(whole)
      return whole()
    }

    function whole(): Body {
      const wire = file ?? gathered(chunks, bytes)
      chunks = [] // whoever releases it holds on to them
      return {
        wire,
        wireBytes: bytes,
        encoding,
        head,
        unpacked: () => unpack({ content: () => wireContent({ wire }), encoding, head }, memory),
        release,
      }
    }

    async function spill(): Promise<void> {
      const opened = await openWaiting(settings.dir)
      if (released) return discard(opened) // the sender left meanwhile
      file = opened
      await writeOut(opened)
    }

    async function writeOut({ handle }: WaitingFile): Promise<void> {
      if (chunks.length > 0) await handle.writev(chunks.splice(0))
      memory.release(mine)
      mine = 0
    }

    function release(): Promise<void> | undefined {
      released = true
      memory.release(mine)
      mine = 0
      return file && discard(file)
    }
  }

  function tooLarge(): Rejection {
    return new Rejection('envelope-too-large', `It is larger than ${settings.maxBytes} bytes.`)
  }
}

async function openWaiting(dir: string): Promise<WaitingFile> {
  const path = join(dir, `${WAITING}${randomUUID()}`)
  return { path, handle: await open(path, 'wx+', 0o600) }
}

async function discard({ path, handle }: WaitingFile): Promise<void> {
  await handle.close()
  await unlink(path)
}

const WAITING = 'body-'
const LEFT_BEHIND_MS = 60 * 60 * 1000 // longer than any request lives

/** Makes the folder for bodies where there is none, and tidies it. Rejects when it cannot be written to. */
export async function prepareFolder(dir: string, now: number): Promise<void> {
  await mkdir(dir, { recursive: true })
  await access(dir, constants.W_OK)
  await removeLeftBehind(dir, now)
}

/** What a process left behind that was killed. Other replicas may share the folder: what is young is theirs. */
async function removeLeftBehind(dir: string, now: number): Promise<void> {
  for (const name of await readdir(dir)) {
    const path = join(dir, name)
    const age =
      now -
      (await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => now,
      ))
    if (name.startsWith(WAITING) && age > LEFT_BEHIND_MS) await unlink(path).catch(() => undefined) // another replica was first
  }
}

type Store = {
  bytes(): number
  add(chunk: Buffer): Promise<void> | undefined
  finish(): Body | Promise<Body>
  release(): Promise<void> | undefined
}

type Reading<T> = {
  /** Works on a chunk; the sender is held back until a promise resolves. */
  take: (chunk: Buffer) => Promise<void> | undefined
  finish: () => T | Promise<T>
  /** Cleans up. */
  fail: () => Promise<void> | undefined
}

/** Hands over each chunk in turn. Rejects with what a part threw, `Aborted`, or a `Rejection` when it takes too long. */
function read<T>(
  incoming: IncomingMessage,
  timeouts: Timeouts,
  reading: Reading<T>,
  { resolve, reject }: Pick<PromiseWithResolvers<T>, 'resolve' | 'reject'>,
): void {
  let working: Promise<void> | undefined
  let whole = false
  let over = false
  const timeout = timeouts.begin(() => fail(new Rejection('body-timeout')))
  incoming.on('data', onData)
  incoming.on('end', onFinalOutcome)
  incoming.on('error', onGone)
  incoming.on('close', onGone)

  function onData(chunk: Buffer): void {
    if (over) return
    try {
      working = reading.take(chunk)
    } catch (error) {
      fail(error)
      return
    }
    if (!working) return
    incoming.pause()
    working.then(() => incoming.resume(), fail)
  }
  function onFinalOutcome(): void {
    whole = true // though the last of it may still be on its way to the disk
    if (working) working.then(succeed, fail)
    else succeed()
  }
  function onGone(): void {
    if (!whole) fail(new Aborted())
  }
  function succeed(): void {
    if (over) return
    over = true
    timeouts.forget(timeout)
    const finished = reading.finish()
    if (finished instanceof Promise) finished.then(resolve, cleanUp)
    else resolve(finished)
  }
  function fail(error: unknown): void {
    if (over) return
    over = true
    timeouts.forget(timeout)
    cleanUp(error)
  }
  function cleanUp(error: unknown): void {
    const cleaned = reading.fail()
    if (cleaned) cleaned.then(() => reject(error), reject)
    else reject(error)
  }
}

const READ_AT_ONCE = 256 * 1024

/** The body's bytes as they came, from the first. */
export function wireContent({ wire }: Pick<Body, 'wire'>): Pieces | Readable {
  if (!('handle' in wire)) return wire
  return createReadStream('', { fd: wire.handle, start: 0, autoClose: false, highWaterMark: READ_AT_ONCE })
}

const WRITTEN_ALONE = 32 * 1024 // bytes: smaller pieces cost more to write one by one than to put together

/** In one piece where they are small, and as they are where they are large. */
export function gathered(pieces: Pieces, bytes: number): Pieces {
  return pieces.length > 1 && bytes < pieces.length * WRITTEN_ALONE ? [Buffer.concat(pieces, bytes)] : pieces
}
