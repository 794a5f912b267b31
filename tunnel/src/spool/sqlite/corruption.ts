/** A spool's file that cannot be read: set aside by whoever has it alone, never one that another replica has open. */

import { existsSync, renameSync } from 'node:fs'
import { type Ownership, shareOwnership } from './exclusive-access.ts'
import type { SqliteStore } from './store.ts'

export type Opened = {
  store: SqliteStore
  ownership: Ownership
  /** What an operator should know. */
  notice: string | undefined
}

// sqlite.org/rescode.html: SQLITE_CORRUPT and SQLITE_NOTADB, in the low byte
const DAMAGED = new Set([11, 26])

/** Opens the file, a new one in its place when it is damaged. Throws in words when that cannot be done. */
export function openOrSetAside(file: string, open: () => SqliteStore, now: () => number): Opened {
  const ownership = shareOwnership(file)
  try {
    return { store: open(), ownership, notice: undefined }
  } catch (error) {
    if (!isDamage(error)) throw error
  }
  const name = `${file}.damaged-${new Date(now()).toISOString().replaceAll(':', '')}`
  const store = ownership.alone(() => {
    for (const part of ['', '-wal', '-shm']) if (existsSync(file + part)) renameSync(file + part, name + part)
    return open()
  })
  if (!store)
    throw new Error(
      `SPOOL_URL: "${file}" is damaged, and another replica has it open; stop all of them, then start one, which sets it aside`,
    )
  return {
    store,
    ownership,
    notice: `the spool's file was damaged and is set aside as ${name}; a new one is in its place`,
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && DAMAGED.has(Number(error.errcode) & 0xff)
}
