/**
 * What waits, in a plain file, to be moved from one store to another:
 *
 *     {"culvert":"spool","version":1,"id":"…"}
 *     {"key":"…","project":"https://key@host/2","category":"error",…,"bytes":3300,"headers":[…]}
 *     3300 bytes, as Sentry will get them
 *     …
 *     {"end":true,"envelopes":1}
 *
 * Each envelope is a line of JSON (`Waiting` in `spool.ts`) and its body, with a newline behind. The key is made of the body, so that
 * damage is noticed.
 */

import { randomUUID } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { identify } from '../envelope/dedupe-key.ts'
import type { KeptBody, SpoolBody, Waiting } from './spool.ts'

export type SpoolFileWriter = {
  /** All of it or, when the body cannot be read to its end, nothing. */
  write(waiting: Waiting, body: KeptBody): Promise<void>
  /** Resolves when what was written is on disk, synced. */
  sync(): Promise<void>
  /** Writes the last line. */
  end(): Promise<void>
  close(): Promise<void>
}

/** An envelope in the file; `next` is where the one behind it begins. */
export type Written = { waiting: Waiting; body: SpoolBody; next: number }

export type SpoolFileReader = {
  /** This file's alone, wherever it is copied to and whatever it is named. */
  id: string
  /** From where an envelope begins; from the first one when that is 0. Rejects in words where the file is damaged. */
  envelopes(from: number): AsyncGenerator<Written>
  close(): Promise<void>
}

const HEAD = { culvert: 'spool', version: 1 }
const LINE_BYTES = 1024 * 1024 // 1 MiB, more than headers of a POST may have
const PIECE_BYTES = 64 * 1024
const WHOLE_BYTES = 1024 * 1024 // a larger body is read in pieces

/** Rejects when there is a file already. */
export async function createSpoolFile(path: string): Promise<SpoolFileWriter> {
  const handle = await open(path, 'ax', 0o600)
  let [envelopes, length] = [0, 0]
  await put(`${JSON.stringify({ ...HEAD, id: randomUUID() })}\n`)
  await syncFolder(path)
  return { write, sync, end, close: () => handle.close() }

  async function write({ file: _, ...waiting }: Waiting, body: KeptBody): Promise<void> {
    const { key, project, category, priority, network, received, bytes, wireBytes, receipt, headers } =
      waiting
    const plain = { key, project, category, priority, network, received, bytes, wireBytes, receipt, headers }
    const before = length
    try {
      await put(`${JSON.stringify(plain)}\n`)
      if (Buffer.isBuffer(body)) await put(body)
      else for await (const chunk of body.open()) await put(chunk)
      await put('\n')
    } catch (error) {
      await handle.truncate(before)
      length = before
      throw error
    }
    envelopes++
  }

  /** All of it; what is written goes behind what was written before. */
  async function put(chunk: string | Buffer): Promise<void> {
    await handle.appendFile(chunk)
    length += Buffer.byteLength(chunk)
  }

  async function sync(): Promise<void> {
    await handle.datasync()
  }

  async function end(): Promise<void> {
    await put(`${JSON.stringify({ end: true, envelopes })}\n`)
    await sync()
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r')
  await folder.sync().finally(() => folder.close())
}

export async function openSpoolFile(path: string): Promise<SpoolFileReader> {
  const handle = await open(path, 'r')
  const first = (await readLine(handle, 0)) ?? ''
  const id = idIn(first)
  if (id === undefined) {
    await handle.close()
    throw new Error(`${path} is no file that a spool of this version was exported to`)
  }
  return { id, envelopes, close: () => handle.close() }

  async function* envelopes(from: number): AsyncGenerator<Written> {
    for (let at = from || first.length + 1; ; ) {
      const line = await readLine(handle, at)
      if (line === undefined)
        throw new Error(`${path} ends at byte ${at}, before its end: it was not written to the last`)
      const read = parse(line)
      if (read && 'end' in read) return
      const start = at + Buffer.byteLength(line) + 1
      const waiting = read && (await isWhole(read, start)) ? read : undefined
      if (!waiting) throw new Error(`${path} is damaged, or was not written to the last, at byte ${at}`)
      at = start + waiting.bytes + 1
      yield { waiting, body: await bodyAt(handle, start, waiting.bytes), next: at }
    }
  }

  async function isWhole({ key, project, bytes }: Waiting, start: number): Promise<boolean> {
    const [newline] = await Array.fromAsync(pieces(handle, start + bytes, 1))
    return newline?.[0] === NEWLINE && (await identify(project, pieces(handle, start, bytes))) === key
  }
}

const NEWLINE = 0x0a

/** `undefined` when it is no first line of a file that is read here. */
function idIn(line: string): string | undefined {
  const { culvert, version, id } = { ...(parse(line) as Partial<typeof HEAD & { id: string }> | undefined) }
  return culvert === HEAD.culvert && version === HEAD.version && typeof id === 'string' ? id : undefined
}

function parse(line: string): Waiting | { end: true } | undefined {
  try {
    const value = JSON.parse(line)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

async function bodyAt(handle: FileHandle, start: number, bytes: number): Promise<SpoolBody> {
  if (bytes > WHOLE_BYTES) return { chunks: () => pieces(handle, start, bytes) }
  const whole = await Array.fromAsync(pieces(handle, start, bytes))
  return { chunks: () => whole }
}

async function* pieces(handle: FileHandle, start: number, bytes: number): AsyncGenerator<Buffer> {
  for (let at = start; at < start + bytes; ) {
    const piece = Buffer.alloc(Math.min(PIECE_BYTES, start + bytes - at))
    const { bytesRead } = await handle.read(piece, 0, piece.length, at)
    if (bytesRead === 0) return
    yield piece.subarray(0, bytesRead)
    at += bytesRead
  }
}

/** Without its newline; `undefined` where the file ends before one. */
async function readLine(handle: FileHandle, start: number): Promise<string | undefined> {
  const parts: Buffer[] = []
  for await (const piece of pieces(handle, start, LINE_BYTES)) {
    const end = piece.indexOf(NEWLINE)
    parts.push(end < 0 ? piece : piece.subarray(0, end))
    if (end >= 0) return Buffer.concat(parts).toString()
  }
  return undefined
}
