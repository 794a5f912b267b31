/** Received bodies: in memory while there is room, and in a file when they exceed it. */

import { randomUUID } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { access, type FileHandle, mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { Rejection } from 'contract/rejections'
import { decompress, type Encoded, type Encoding, type Rewriting, readEncoding, rewrite } from './decode.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { Turns } from './turns.ts'

export type Body = Readonly<
  Pick<StoredBody, 'wire' | 'wireBytes' | 'encoding' | 'head' | 'decompressed' | 'release'>
>

/** Consecutive chunks. Large ones are not joined: the copy would double the garbage collector's work. */
export type Pieces = readonly Buffer[]

type BodyFile = { path: string; handle: FileHandle }

export type BodySettings = {
  /** Largest body on the wire. */
  maxBytes: number
  /** Bytes that one body may hold in memory. */
  shareBytes: number
  /** Folder on a disk; a tmpfs would be memory that no budget counts. */
  dir: string
  /** Time for a body to arrive, in milliseconds. */
  timeoutMs: number
  /** Called when the file of a body cannot be removed, for example because another program has removed it. */
  onFileFault: (error: unknown) => void
}

/** The sender disconnected before the body was complete, as when a page unloads. */
export class Aborted extends Error {}

const HEAD_BYTES = 16 // contain the window size
const TURN_BYTES = 1024 * 1024 // of a body; smaller ones do not wait for others
const WRITE_BYTES = 512 * 1024 // a socket yields 64 KiB at most, and a write for each would be mostly overhead

/** Creates bodies from requests and from other bodies. */
export class Bodies {
  readonly #settings: BodySettings
  readonly #memory: MemoryBudget
  readonly #turns = new Turns()

  constructor(settings: BodySettings, memory: MemoryBudget) {
    this.#settings = settings
    this.#memory = memory
  }

  /**
   * Receives the body of a request. A body that is not compressed is passed to `onChunk` as it arrives, so that it can be rejected early.
   * Rejects with `Aborted`, a `Rejection`, or what `onChunk` throws.
   */
  receive(incoming: IncomingMessage, onChunk: (chunk: Buffer) => void): Promise<Body> {
    const { maxBytes, timeoutMs } = this.#settings
    return new Promise((resolve, reject) => {
      const encoding = readEncoding(incoming.headers['content-encoding'])
      const announced = Number(incoming.headers['content-length'] ?? 0)
      if (announced > maxBytes) throw tooLarge(maxBytes)
      const body = new StoredBody(encoding, announced, this.#settings, this.#memory)
      const add = (chunk: Buffer) => {
        if (body.wireBytes + chunk.length > maxBytes) throw tooLarge(maxBytes)
        if (encoding === 'identity') onChunk(chunk)
        return body.add(chunk)
      }
      readRequest({ incoming, announced, body, add, timeoutMs, turns: this.#turns }, { resolve, reject })
    })
  }

  /** Creates a changed copy of a body; `undefined` when it is larger than `maxBytes`. Throws as `rewrite` does. */
  async rewrite(encoded: Encoded, rewriting: Rewriting, maxBytes: number): Promise<Body | undefined> {
    const body = new StoredBody(rewriting.encoding, 0, this.#settings, this.#memory)
    try {
      for await (const chunk of rewrite(encoded, rewriting, this.#memory)) {
        if (body.wireBytes + chunk.length > maxBytes) {
          await body.release()
          return undefined
        }
        await body.add(chunk)
      }
      return await body.finish()
    } catch (error) {
      await body.release()
      throw error
    }
  }
}

function tooLarge(maxBytes: number): Rejection {
  return new Rejection('envelope-too-large', `It is larger than ${maxBytes} bytes.`)
}

class StoredBody {
  readonly encoding: Encoding
  /** First bytes of a compressed body. */
  head: Buffer = Buffer.alloc(0)
  wireBytes = 0
  readonly #announced: number
  readonly #settings: BodySettings
  readonly #memory: MemoryBudget
  #chunks: Buffer[] = []
  #reservedBytes = 0
  #file: BodyFile | undefined
  #isReleased = false

  constructor(encoding: Encoding, announced: number, settings: BodySettings, memory: MemoryBudget) {
    this.encoding = encoding
    this.#announced = announced
    this.#settings = settings
    this.#memory = memory
  }

  /** Bytes as received: the chunks in memory, or the file that holds them. */
  get wire(): Pieces | BodyFile {
    return this.#file ?? this.#chunks
  }

  /** Appends a chunk. Returns a promise when the chunk goes to disk. */
  add(chunk: Buffer): Promise<void> | undefined {
    if (this.wireBytes === 0 && this.encoding !== 'identity')
      this.head = Buffer.from(chunk.subarray(0, HEAD_BYTES))
    this.wireBytes += chunk.length
    this.#chunks.push(chunk)
    this.#reservedBytes += chunk.length
    this.#memory.reserve(chunk.length)
    if (this.#file) return this.#reservedBytes > WRITE_BYTES ? this.#write(this.#file) : undefined
    const isLarge = Math.max(this.wireBytes, this.#announced) > this.#settings.shareBytes
    return isLarge || this.#memory.isExceeded() ? this.#moveToFile() : undefined
  }

  finish(): Body | Promise<Body> {
    if (this.#file) return this.#write(this.#file).then(() => this)
    this.#chunks = [...joinSmall(this.#chunks, this.wireBytes)]
    return this
  }

  /** Yields the decompressed bytes. Throws a `Rejection` when they are corrupt, or there is no memory for a decoder. */
  decompressed(): AsyncGenerator<Buffer> {
    const { encoding, head } = this
    return decompress({ content: () => wireContent(this), encoding, head }, this.#memory)
  }

  /** Releases its memory and removes its file. Never rejects: the outcome of the envelope does not depend on it. */
  release(): Promise<void> | undefined {
    this.#isReleased = true
    this.#releaseMemory()
    return this.#file && this.#remove(this.#file)
  }

  async #moveToFile(): Promise<void> {
    const path = join(this.#settings.dir, `${FILE_PREFIX}${randomUUID()}`)
    const file = { path, handle: await open(path, 'wx+', 0o600) }
    if (this.#isReleased) return this.#remove(file) // the sender has disconnected meanwhile
    this.#file = file
    await this.#write(file)
  }

  async #write({ handle }: BodyFile): Promise<void> {
    if (this.#chunks.length > 0) await handle.writev(this.#chunks.splice(0))
    this.#releaseMemory()
  }

  async #remove({ path, handle }: BodyFile): Promise<void> {
    const { onFileFault } = this.#settings
    await handle.close().catch(onFileFault)
    await unlink(path).catch(onFileFault)
  }

  #releaseMemory(): void {
    this.#memory.release(this.#reservedBytes)
    this.#reservedBytes = 0
  }
}

type Reading = {
  incoming: IncomingMessage
  /** Content-Length, or 0. */
  announced: number
  body: StoredBody
  add: (chunk: Buffer) => Promise<void> | undefined
  timeoutMs: number
  turns: Turns
}

/**
 * Passes a request to `add` until its end, and pauses it while `add` waits, or other large bodies have their turn. Rejects with what `add`
 * throws, `Aborted` or `body-timeout`.
 */
function readRequest(
  { incoming, announced, body, add, timeoutMs, turns }: Reading,
  { resolve, reject }: Pick<PromiseWithResolvers<Body>, 'resolve' | 'reject'>,
): void {
  let writing: Promise<void> | undefined
  let isComplete = false
  let isSettled = false
  let turnBytes = announced > TURN_BYTES ? 0 : TURN_BYTES
  let endTurn: (() => void) | undefined
  const timer = setTimeout(() => fail(new Rejection('body-timeout')), timeoutMs)
  incoming.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose)

  function onData(chunk: Buffer): void {
    if (isSettled) return
    try {
      writing = add(chunk)
      if (body.wireBytes > turnBytes && body.wireBytes !== announced)
        writing = Promise.all([writing, nextTurn()]).then(() => undefined)
    } catch (error) {
      fail(error)
      return
    }
    if (!writing) return
    incoming.pause()
    writing.then(() => incoming.resume(), fail)
  }

  function nextTurn(): Promise<void> {
    endTurn?.()
    turnBytes = body.wireBytes + TURN_BYTES
    return new Promise((begin) => {
      endTurn = turns.take(begin)
    })
  }

  function onEnd(): void {
    isComplete = true
    if (writing) writing.then(succeed, fail)
    else succeed()
  }

  function onClose(): void {
    if (!isComplete) fail(new Aborted())
  }

  function succeed(): void {
    if (!settle()) return
    const finished = body.finish()
    if (finished instanceof Promise) finished.then(resolve, releaseAndReject)
    else resolve(finished)
  }

  function fail(error: unknown): void {
    if (settle()) releaseAndReject(error)
  }

  function settle(): boolean {
    if (isSettled) return false
    clearTimeout(timer)
    endTurn?.()
    isSettled = true
    return true
  }

  function releaseAndReject(error: unknown): void {
    const released = body.release()
    if (released) released.then(() => reject(error))
    else reject(error)
  }
}

const FILE_PREFIX = 'body-'
const MAX_FILE_AGE_MS = 60 * 60 * 1000 // longer than any request takes

/**
 * Creates the folder for bodies and removes the files of a process that was killed. Rejects when the folder is not writable. Young files
 * may belong to other replicas.
 */
export async function prepareFolder(dir: string, now: number): Promise<void> {
  await mkdir(dir, { recursive: true })
  await access(dir, constants.W_OK)
  for (const name of await readdir(dir)) {
    if (!name.startsWith(FILE_PREFIX)) continue
    const path = join(dir, name)
    const { mtimeMs = now } = (await stat(path).catch(() => undefined)) ?? {}
    if (now - mtimeMs > MAX_FILE_AGE_MS) await unlink(path).catch(() => undefined) // another replica was first
  }
}

const READ_BYTES = 256 * 1024

/** Returns the bytes as received, from the first. */
export function wireContent({ wire }: Pick<Body, 'wire'>): Pieces | Readable {
  if (!('handle' in wire)) return wire
  return createReadStream('', { fd: wire.handle, start: 0, autoClose: false, highWaterMark: READ_BYTES })
}

const SMALL_BYTES = 32 * 1024 // writing smaller pieces one by one costs more than joining them

/** Joins chunks that are small on average. */
export function joinSmall(chunks: Pieces, bytes: number): Pieces {
  return chunks.length > 1 && bytes < chunks.length * SMALL_BYTES ? [Buffer.concat(chunks, bytes)] : chunks
}

/** Returns all bytes in one piece. A single piece is not copied. */
export function joinAll(chunks: Pieces): Buffer {
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
}
