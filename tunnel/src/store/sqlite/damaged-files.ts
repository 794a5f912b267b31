/** Names of damaged spool files, which are set aside beside the spool's file until an operator deletes them. */

import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { hasErrorCode } from './locks.ts'

const DAMAGED = '.damaged-'
const MARK = '-damaged'
const LOG_FILES = ['-wal', '-shm']
const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26

/** Damage that a running tunnel has found. Entries are no longer accepted into such a file. */
export class DamagedFile extends Error {
  constructor(file: string) {
    super(
      `"${file}" is damaged; stop all tunnels and start them again: the first one checks it, and sets it aside if it is`,
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
  return name
}

/** Lists the damaged files of a spool. */
export function listDamaged(spoolFile: string): string[] {
  const prefix = `${basename(spoolFile)}${DAMAGED}`
  return readdirSync(dirname(spoolFile))
    .filter((name) => name.startsWith(prefix) && !LOG_FILES.some((suffix) => name.endsWith(suffix)))
    .map((name) => join(dirname(spoolFile), name))
}
