/** Disk space of the spool's SQLite file: entries, the write-ahead log, and a reserve for delivery from a full disk. */

import { randomFillSync } from 'node:crypto'
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { endedFolderOf, pendingFolderOf } from './body-files.ts'
import { fileBytes, walFileOf } from './write-ahead-log.ts'

export type Space = {
  /** Bound of the entries. */
  entryBytes: number
  /** Length of the log from which writers move it into the file. While another process reads, it becomes longer; puts stop at 1.5 times this length. */
  walBytes: number
  reserveBytes: number
  /** Largest body in the file; larger ones are files of their own. */
  rowBytes: number
}

const DEFAULT_BYTES = 5 * 1024 ** 3 // 5 GiB
const MAX_WAL_BYTES = 16 * 1024 * 1024 // 16 MiB
const WAL_SHARE = 1 / 16
const MIN_ROW_BYTES = 256 * 1024
const MAX_ROW_BYTES = 1024 * 1024 // 1 MiB; the database is slower with larger bodies
const CHUNK_BYTES = 1024 * 1024

/** Returns 5 GiB, or half of the disk's bytes that are free or taken by this spool, if that is less. */
export async function defaultBound(spoolFile: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(spoolFile))
  return Math.min(DEFAULT_BYTES, Math.floor((bavail * bsize + takenBytes(spoolFile)) / 2))
}

/** Divides the bytes that the spool may take in a folder, whose disk may be smaller. */
export function divideSpace(bytes: number, folder: string): Space {
  const { blocks, bsize } = statfsSync(folder)
  const walBytes = Math.min(MAX_WAL_BYTES, Math.floor(Math.min(bytes, blocks * bsize) * WAL_SHARE))
  const reserveBytes = 2 * walBytes
  const rowBytes = Math.min(MAX_ROW_BYTES, Math.max(MIN_ROW_BYTES, Math.floor(walBytes / 2)))
  return { entryBytes: bytes - walBytes - reserveBytes, walBytes, reserveBytes, rowBytes }
}

/** Returns the bytes of the spool's file, its log, its reserve and the large bodies beside it. */
function takenBytes(spoolFile: string): number {
  const names = [pendingFolderOf(spoolFile), endedFolderOf(spoolFile)].flatMap((folder) =>
    existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [],
  )
  const files = [spoolFile, walFileOf(spoolFile), reserveFileOf(spoolFile), ...names]
  return files.reduce((sum, name) => sum + fileBytes(name), 0)
}

/**
 * File beside the spool's that takes up space. On a full disk it is deleted, so that the log can be moved into the file and entries can be
 * leased and removed. New entries wait until it is there again.
 */
export class Reserve {
  readonly #file: string
  readonly bytes: number
  readonly #spareBytes: number

  constructor(spoolFile: string, { reserveBytes, walBytes }: Space) {
    this.#file = reserveFileOf(spoolFile)
    this.bytes = reserveBytes
    this.#spareBytes = walBytes
  }

  isFilled(): boolean {
    return (statSync(this.#file, { throwIfNoEntry: false })?.size ?? -1) >= this.bytes
  }

  /** Writes the file, unless it is there or the disk has no room for it. Returns `true` when it is there. */
  fill(): boolean {
    if (this.isFilled()) return true
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#file))
      if (bavail * bsize < this.bytes + this.#spareBytes) return false
      writeNoise(this.#file, this.bytes)
      return true
    } catch {
      this.release() // the disk has become full meanwhile
      return false
    }
  }

  release(): void {
    rmSync(this.#file, { force: true })
  }
}

export function reserveFileOf(spoolFile: string): string {
  return `${spoolFile}-reserve`
}

/** Writes random bytes, which no file system compresses. */
function writeNoise(file: string, bytes: number): void {
  const chunk = randomFillSync(Buffer.allocUnsafe(Math.min(bytes, CHUNK_BYTES)))
  const target = openSync(file, 'w', 0o600)
  try {
    for (let at = 0; at < bytes; ) at += writeSync(target, chunk, 0, Math.min(chunk.length, bytes - at), at)
  } finally {
    closeSync(target)
  }
}
