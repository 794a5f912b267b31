/** Opens the store that the settings name: a SQLite file, or streams on a NATS server. */

import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SpoolPlace } from 'contract/settings/parsers'
import { ADDRESS_SHARE, type Spool, type SpoolBounds } from '../pipeline/spool.ts'
import { defaultBound } from './sqlite/space.ts'
import { type OpenSpoolFile, openSqliteSpool } from './sqlite/sqlite-spool.ts'
import { openUnreachable, StoreAway } from './unreachable.ts'

export type SpoolSettings = {
  /** SQLite file, or NATS server. */
  place: SpoolPlace
  /**
   * Bound in bytes. `undefined`: 5 GiB or half of the free disk, whichever is smaller; on NATS the size of the stream, 5 GiB for a new
   * one.
   */
  bytes: number | undefined
  /** Age in milliseconds at which an entry expires. */
  ageMs: number
}

export type OpenStoreDeps = Pick<SpoolBounds, 'projectShare'> & {
  /** Bounds of accepted entries that stay; absent: none do. */
  kept: SpoolBounds['kept']
  /** Milliseconds since 1970. */
  now: () => number
  /** Called with messages for the operator. */
  onNotice: (notice: string) => void
  /** Opens the file of a SQLite spool; by default in a worker thread. */
  openSpoolFile?: OpenSpoolFile | undefined
}

/** Rejects with a readable message when the store cannot be opened. One that is away is opened later: a NATS server that does not answer, is too old or without room, or a locked file. */
export async function openStore(settings: SpoolSettings, deps: OpenStoreDeps): Promise<Spool> {
  const { onNotice } = deps
  const open = () => openSpool(settings, deps)
  const store = await open().catch((problem) => {
    if (problem instanceof StoreAway) return openUnreachable({ open, problem, onNotice })
    throw problem
  })
  const { durability } = await store.describe()
  if (durability.startsWith('unproven')) onNotice(`the durability of the spool is ${durability}`)
  return store
}

async function openSpool(
  { place, bytes, ageMs }: SpoolSettings,
  { projectShare, kept, now, onNotice, openSpoolFile }: OpenStoreDeps,
): Promise<Spool> {
  const shares = { addressShare: ADDRESS_SHARE, projectShare, ...(kept && { kept }) }
  if ('nats' in place) {
    const { openJetStreamSpool } = await import('./jetstream/jetstream-spool.ts') // loaded when needed, for a faster start
    return openJetStreamSpool(place.nats, { ...shares, bytes, ageMs }, now, onNotice)
  }
  mkdirSync(dirname(place.file), { recursive: true })
  const bound = bytes ?? (await defaultBound(place.file))
  return openSqliteSpool(place.file, { ...shares, bytes: bound }, onNotice, openSpoolFile)
}
