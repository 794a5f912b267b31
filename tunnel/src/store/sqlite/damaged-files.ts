/** Names of damaged spool files, which are set aside beside the spool's file until an operator deletes them. */

import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { hasErrorCode } from './locks.ts'

const DAMAGED = '.damaged-'
const MARK = '-damaged'
const LOG_FILES = ['-wal', '-shm']
const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26
const MAX_NAMED = 20

/** Damage that a running tunnel has found. Entries are no longer accepted into such a file. */
export class DamagedFile extends Error {
  constructor(file: string, unreadable: ReadonlySet<number>) {
    const rows = [...unreadable].slice(0, MAX_NAMED).join(', ')
    const named = unreadable.size > 0 ? ` (${unreadable.size} entries cannot be read: rows ${rows})` : ''
    super(
      `"${file}" is damaged${named}; stop all tunnels and start them again: the first one checks it, and sets it aside if it is`,
    )
  }
}

/** A file that a running tunnel has open was deleted or replaced. */
export class FileDeleted extends Error {
  constructor(file: string) {
    super(
      `"${file}" was deleted while tunnels run; stop all of them and start them again, and let nothing delete it`,
    )
  }
}

export function isDamage(error: unknown): boolean {
  return hasErrorCode(error, [SQLITE_CORRUPT, SQLITE_NOTADB])
}

/** Returns `true` when SQLite finds no damage. Throws when the file cannot be read at all. */
export function isIntact(file: string): boolean {
  try {
    using db = new DatabaseSync(file, { readOnly: true }) // closing it must not change the file
    return db.prepare('PRAGMA integrity_check(1)').get()?.integrity_check === 'ok'
  } catch (error) {
    if (isDamage(error)) return false
    throw error
  }
}

/** Files of an open spool, to notice that one of them was deleted or replaced: SQLite would go on with the deleted one. */
export class OpenFiles {
  readonly #known: ReadonlyMap<string, number>

  /** All of them exist while a connection is open. */
  constructor(file: string) {
    const files = ['', ...LOG_FILES].map((suffix) => file + suffix)
    this.#known = new Map(files.map((name) => [name, inodeOf(name) ?? 0]))
  }

  /** Returns the name of one that is gone. */
  missing(): string | undefined {
    for (const [name, inode] of this.#known) if (inodeOf(name) !== inode) return name
    return undefined
  }
}

function inodeOf(name: string): number | undefined {
  return statSync(name, { throwIfNoEntry: false })?.ino
}

/** Notes that the file is damaged, so that the next tunnel that has it alone sets it aside. */
export function markDamaged(file: string): void {
  writeFileSync(file + MARK, '')
}

export function removeMark(file: string): void {
  rmSync(file + MARK, { force: true })
}

export function isMarkedDamaged(file: string): boolean {
  return existsSync(file + MARK)
}

/** Renames the file with its log. Returns its new name. */
export function setAside(file: string): string {
  const name = `${file}${DAMAGED}${new Date().toISOString().replaceAll(':', '')}`
  for (const suffix of [...LOG_FILES, ''])
    if (existsSync(file + suffix)) renameSync(file + suffix, name + suffix)
  removeMark(file)
  return name
}

/** Lists the damaged files of a spool. */
export function listDamaged(spoolFile: string): string[] {
  const prefix = `${basename(spoolFile)}${DAMAGED}`
  return readdirSync(dirname(spoolFile))
    .filter((name) => name.startsWith(prefix) && !LOG_FILES.some((suffix) => name.endsWith(suffix)))
    .map((name) => join(dirname(spoolFile), name))
}
