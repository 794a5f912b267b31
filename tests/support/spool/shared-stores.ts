/** Stores that several tunnels share, for tests of processes. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startNats } from '../nats/nats.ts'
import { requires } from '../requirements.ts'
import { makeMemoryFolder } from '../temporary-folder.ts'

export const STORES = {
  'SQLite file': async () => {
    const folder = await makeMemoryFolder()
    return Object.assign(folder, { url: pathToFileURL(join(folder.path, 'spool.db')).href })
  },
  'NATS server': startNats,
}

/** Names of the stores, each with what its tests require. */
export const STORE_NAMES = [
  ['SQLite file', {}],
  ['NATS server', requires('nats')],
] as const
