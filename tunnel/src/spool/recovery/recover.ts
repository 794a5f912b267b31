/** Puts the readable entries of a damaged spool file back into the spool, each of them once. */

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { markRecovered, recoveredNameOf, spoolFileOf } from '../sqlite/damaged-files.ts'
import { OwnerLock } from '../sqlite/locks.ts'
import { divideSpace } from '../sqlite/space.ts'
import { SqliteStore } from '../sqlite/store.ts'
import { DamagedSpool, type FoundEntry } from './damaged-spool.ts'

export type Recovery = {
  recovered: number
  /** Entries that the spool has, or that were put back before. */
  known: number
  unreadable: number
  /** Arrival of the oldest recovered entry in milliseconds since 1970. */
  oldest?: number
  /** Name of the file now. */
  renamedTo: string
}

const MAX_BATCH = 100 // entries in one transaction
const MAX_BATCH_BYTES = 4 * 1024 * 1024 // 4 MiB

/**
 * Recovers a file that a tunnel has set aside, while tunnels run or not. Returns `undefined` when that was done before. Throws when the file
 * is another one, or when there is no room; what was put back then counts as known the next time.
 */
export async function recover(damaged: string): Promise<Recovery | undefined> {
  const spoolFile = spoolFileOf(damaged)
  if (spoolFile === undefined)
    throw new Error(`"${damaged}" is not a damaged spool file; their names contain ".damaged-"`)
  if (!existsSync(damaged)) {
    if (existsSync(recoveredNameOf(damaged))) return undefined
    throw new Error(`there is no file "${damaged}"`)
  }
  const ownerLock = new OwnerLock(spoolFile) // so that no tunnel removes bodies without an entry meanwhile
  const source = new DamagedSpool(damaged)
  try {
    return await putBack(source, spoolFile, damaged)
  } finally {
    source.close()
    ownerLock.close()
  }
}

async function putBack(source: DamagedSpool, spoolFile: string, damaged: string): Promise<Recovery> {
  const bounds = { ...divideSpace(Infinity, dirname(spoolFile)), addressShare: 1, projectShare: 1 }
  const store = new SqliteStore(spoolFile, bounds, crypto.randomUUID())
  let [recovered, known, oldest] = [0, 0, Infinity]
  const putBatch = (batch: readonly FoundEntry[]) => {
    store.lockWait.begin()
    store.log.shorten('TRUNCATE')
    const restored = store.commit(() => batch.filter(({ entry, body }) => store.restore(entry, body)))
    recovered += restored.length
    known += batch.length - restored.length
    for (const { entry } of restored) oldest = Math.min(oldest, entry.received)
  }
  try {
    let batch: FoundEntry[] = []
    let bytes = 0
    for await (const found of source.entries()) {
      batch.push(found)
      bytes += found.body?.length ?? 0
      if (batch.length < MAX_BATCH && bytes < MAX_BATCH_BYTES) continue
      putBatch(batch)
      batch = []
      bytes = 0
    }
    putBatch(batch)
  } finally {
    store.close()
  }
  const { unreadable } = source
  const times = { ...(oldest < Infinity && { oldest }) }
  return { recovered, known, unreadable, ...times, renamedTo: markRecovered(damaged) }
}
