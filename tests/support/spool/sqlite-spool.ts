/** SQLite spool in its own folder, for the contract of the spool. */

import { join } from 'node:path'
import type { Spool, SpoolBounds } from '../../../tunnel/src/pipeline/spool.ts'
import { diskBytesOf } from '../../../tunnel/src/store/sqlite/entry-row.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { makeMemoryFolder } from '../temporary-folder.ts'
import type { OpenStore } from './guarantees.ts'
import { openInThisThread } from './same-thread.ts'

/** Bounds that leave `bytes` to entries: the log and the reserve take 3/16. */
export function withLog(bounds: SpoolBounds): SpoolBounds {
  return { ...bounds, bytes: Math.ceil((bounds.bytes * 16) / 13) }
}

const FILE_BYTES = 1024 * 1024 // larger bodies are files beside the database

export const openStore: OpenStore = async (bounds) => {
  const folder = await makeMemoryFolder()
  const open = new Set<Spool>()
  const closeAll = async () => {
    await Promise.all([...open].map((spool) => spool.close()))
    open.clear()
  }
  return {
    /** The first replica has a thread of its own, as in a tunnel; others start in a sixth of the time. */
    async spool() {
      const openFile = open.size > 0 ? openInThisThread : undefined
      const spool = await openSqliteSpool(join(folder.path, 'spool.db'), withLog(bounds), undefined, openFile)
      open.add(spool)
      return spool
    },
    closeAll,
    weigh: (entry) => diskBytesOf(entry.bytes > FILE_BYTES ? { ...entry, file: 'large' } : entry),
    async [Symbol.asyncDispose]() {
      await closeAll()
      await folder[Symbol.asyncDispose]()
    },
  }
}
