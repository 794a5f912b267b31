/** A SQLite spool in a folder of its own, for the promises to be tried on. */

import { join } from 'node:path'
import type { Spool } from '../../tunnel/src/spool/spool.ts'
import { openSqliteSpool } from '../../tunnel/src/spool/sqlite.ts'
import { makeFolder } from '../helpers/folder.ts'
import type { OpenStore } from './promises.ts'

export const openStore: OpenStore = async (bounds) => {
  const folder = await makeFolder()
  const open = new Set<Spool>()
  const closeAll = async () => {
    await Promise.all([...open].map((spool) => spool.close()))
    open.clear()
  }
  return {
    async spool() {
      const spool = await openSqliteSpool(join(folder.path, 'spool.db'), bounds)
      open.add(spool)
      return spool
    },
    closeAll,
    async [Symbol.asyncDispose]() {
      await closeAll()
      await folder[Symbol.asyncDispose]()
    },
  }
}
