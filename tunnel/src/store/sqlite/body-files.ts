/** Files of large bodies, which move between two folders with the transaction of their rows. */

import { randomUUID } from 'node:crypto'
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** Folder of the bodies of pending entries. At its start, every release removes files from it that no pending entry has. */
export function pendingFolderOf(spoolFile: string): string {
  return join(dirname(spoolFile), 'bodies')
}

/** Folder of the bodies of ended entries, which the previous release does not know. */
export function endedFolderOf(spoolFile: string): string {
  return join(dirname(spoolFile), 'entries')
}

/** Returns a name that no other body ever has. It begins with the key of the entry. */
export function bodyName(key: string): string {
  return `${key}.${randomUUID()}`
}

const CHUNK_BYTES = 256 * 1024

/** Reads a file, of which no more than a chunk is in memory. */
export function* readChunks(path: string): Generator<Buffer> {
  const handle = openSync(path, 'r')
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
      const bytes = readSync(handle, chunk)
      if (bytes === 0) return
      yield chunk.subarray(0, bytes)
    }
  } finally {
    closeSync(handle)
  }
}

/** A file in a second folder is a hard link, so that at any time of a crash each row has its file, and a file without a row is litter. */
export class BodyFiles {
  readonly #pending: string
  readonly #ended: string
  #linked: string[] = []
  #removed: string[] = []

  constructor(spoolFile: string) {
    this.#pending = pendingFolderOf(spoolFile)
    this.#ended = endedFolderOf(spoolFile)
  }

  readonly pathOfEnded = (name: string): string => join(this.#ended, name)

  readonly pathOfPending = (name: string): string => join(this.#pending, name)

  /** Makes the body of a pending entry that of an ended one, too. */
  keep(name: string): void {
    this.#link(this.pathOfPending(name), this.#ended, name)
  }

  /** Makes the body of an ended entry that of a pending one, too. Returns its name there, or `undefined` when the file is lost. */
  resend(name: string, key: string): string | undefined {
    const source = this.pathOfEnded(name)
    if (!existsSync(source)) return undefined
    const target = bodyName(key)
    this.#link(source, this.#pending, target)
    return target
  }

  /** Removes a file when the transaction is on disk: a file without a row is litter, a row without its file is a loss. */
  remove(path: string): void {
    this.#removed.push(path)
  }

  /** Called after the transaction is on disk. */
  commit(): void {
    this.#settle(this.#removed)
  }

  /** Called after the transaction was rolled back. */
  rollback(): void {
    this.#settle(this.#linked)
  }

  /** Removes bodies without an entry, which a crash or a full disk has left. */
  removeOrphans(isOfPending: (name: string) => boolean, isOfEnded: (name: string) => boolean): void {
    for (const [folder, isKnown] of [
      [this.#pending, isOfPending],
      [this.#ended, isOfEnded],
    ] as const)
      for (const name of readdirSync(folder)) if (!isKnown(name)) rmSync(join(folder, name), { force: true })
  }

  /** Ignores a file that cannot be removed: it is litter, and the transaction is complete. */
  #settle(files: readonly string[]): void {
    this.#linked = []
    this.#removed = []
    for (const file of files)
      try {
        rmSync(file, { force: true })
      } catch {}
  }

  #link(source: string, folder: string, name: string): void {
    const target = join(folder, name)
    this.#linked.push(target)
    try {
      linkSync(source, target)
    } catch {
      copyFileSync(source, target) // a file system without hard links
      sync(target)
    }
    sync(folder)
  }
}

function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
