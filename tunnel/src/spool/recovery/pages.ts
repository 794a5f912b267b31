/** Pages of a SQLite file that may be damaged, with those of its write-ahead log (sqlite.org/fileformat2.html). */

import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { PAGE_BYTES } from '../sqlite/entry-row.ts'
import { walFileOf } from '../sqlite/write-ahead-log.ts'

const MAGIC = 'SQLite format 3\0'
const FREELIST_AT = 32 // in the header: number of the first trunk page
const WAL_MAGIC = 0x377f0682 // the last bit is set when checksums are of big-endian words
const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

export class Pages {
  /** Number of pages. They are numbered from 1. */
  readonly count: number
  readonly #file: number
  readonly #wal: number | undefined
  readonly #inWal: ReadonlyMap<number, number>

  /** Opens the file without SQLite, which might change it. */
  constructor(file: string) {
    this.#file = openSync(file, 'r')
    const walFile = walFileOf(file)
    this.#wal = existsSync(walFile) ? openSync(walFile, 'r') : undefined
    this.#inWal = this.#wal === undefined ? new Map() : readWal(this.#wal)
    const inFile = Math.ceil(fstatSync(this.#file).size / PAGE_BYTES)
    this.count = [...this.#inWal.keys()].reduce((most, page) => Math.max(most, page), inFile)
  }

  /** Returns a page; the missing end of a truncated one is filled with zeros. `undefined` outside of the file. */
  read(page: number): Buffer | undefined {
    if (page < 1 || page > this.count) return undefined
    const content = Buffer.alloc(PAGE_BYTES)
    const at = this.#inWal.get(page)
    const bytes =
      at !== undefined && this.#wal !== undefined
        ? readSync(this.#wal, content, 0, PAGE_BYTES, at)
        : readSync(this.#file, content, 0, PAGE_BYTES, (page - 1) * PAGE_BYTES)
    return bytes > 0 ? content : undefined
  }

  /** Returns the pages that hold nothing any more, as far as the header tells. */
  free(): Set<number> {
    const free = new Set<number>()
    const header = this.read(1)
    if (header?.toString('latin1', 0, MAGIC.length) !== MAGIC) return free
    let trunk = header.readUInt32BE(FREELIST_AT)
    for (let page = this.read(trunk); page && !free.has(trunk); page = this.read(trunk)) {
      free.add(trunk)
      const leaves = Math.min(page.readUInt32BE(4), PAGE_BYTES / 4 - 2)
      for (let leaf = 0; leaf < leaves; leaf++) free.add(page.readUInt32BE(8 + 4 * leaf))
      trunk = page.readUInt32BE(0)
    }
    return free
  }

  close(): void {
    closeSync(this.#file)
    if (this.#wal !== undefined) closeSync(this.#wal)
  }
}

/** Returns the position of each page's last committed content in the log. */
function readWal(wal: number): Map<number, number> {
  const committed = new Map<number, number>()
  const header = Buffer.alloc(WAL_HEADER_BYTES)
  readSync(wal, header, 0, WAL_HEADER_BYTES, 0)
  const magic = header.readUInt32BE(0)
  if ((magic & ~1) >>> 0 !== WAL_MAGIC || header.readUInt32BE(8) !== PAGE_BYTES) return committed
  const isBigEndian = (magic & 1) === 1
  let sums = checksum(header.subarray(0, 24), [0, 0], isBigEndian)
  let pending = new Map<number, number>()
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + PAGE_BYTES)
  for (
    let at = WAL_HEADER_BYTES;
    readSync(wal, frame, 0, frame.length, at) === frame.length;
    at += frame.length
  ) {
    if (!frame.subarray(8, 16).equals(header.subarray(16, 24))) break // salts of an earlier log
    sums = checksum(frame.subarray(0, 8), sums, isBigEndian)
    sums = checksum(frame.subarray(FRAME_HEADER_BYTES), sums, isBigEndian)
    if (frame.readUInt32BE(16) !== sums[0] || frame.readUInt32BE(20) !== sums[1]) break
    pending.set(frame.readUInt32BE(0), at + FRAME_HEADER_BYTES)
    if (frame.readUInt32BE(4) === 0) continue // not the last frame of its transaction
    for (const [page, position] of pending) committed.set(page, position)
    pending = new Map()
  }
  return committed
}

/** Checksum of the log (sqlite.org/walformat.html). */
function checksum(bytes: Buffer, [first, second]: [number, number], isBigEndian: boolean): [number, number] {
  let [s0, s1] = [first, second]
  for (let at = 0; at < bytes.length; at += 8) {
    const [x0, x1] = isBigEndian
      ? [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
      : [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)]
    s0 = (s0 + x0 + s1) >>> 0
    s1 = (s1 + x1 + s0) >>> 0
  }
  return [s0, s1]
}
