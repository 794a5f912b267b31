/** The spool's SQLite file with its lock and its reserve. Synchronous: it runs in a worker thread, since a commit blocks. */

import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Call, CallRunner, isDamage, isDiskFull, type Result } from './calls.ts'
import { isMarkedDamaged, listDamaged, markDamaged, setAside } from './damaged-files.ts'
import { OwnerLock } from './locks.ts'
import { Reserve } from './space.ts'
import { SqliteStore, type StoreBounds } from './store.ts'

export type SpoolFileOptions = { file: string; folder: string; bounds: StoreBounds; newId: string }

export class SpoolFile {
  readonly id: string
  /** Message for the operator. */
  readonly notice: string | undefined
  readonly #options: SpoolFileOptions
  readonly #reserve: Reserve
  readonly #ownerLock: OwnerLock
  readonly #store: SqliteStore
  readonly #runner: CallRunner

  /** Opens the file, or creates it. Throws when a newer release wrote it, or when it is damaged and another replica has it open. */
  constructor(options: SpoolFileOptions) {
    const { file, bounds } = options
    this.#options = options
    this.#reserve = new Reserve(file, bounds)
    this.#ownerLock = new OwnerLock(file)
    const { store, notice } = this.#openOrSetAside()
    this.id = store.id
    this.notice = notice
    this.#store = store
    this.#runner = new CallRunner(store, this.#reserve, bounds.walBytes)
    this.#reserve.fill()
    if (listDamaged(file).length === 0) this.#ownerLock.runAlone(() => this.#removeOrphans()) // they may be bodies of entries that can be recovered
  }

  /** Returns when all calls are on disk. */
  run(calls: readonly Call[]): Result[] {
    const results = this.#runner.run(calls)
    if (results.some(({ error }) => isDamage(error))) markDamaged(this.#options.file)
    return results
  }

  close(): void {
    this.#store.close()
    this.#ownerLock.close()
  }

  /** Opens the file. Puts a new one in the place of a damaged one, unless another replica has that open. */
  #openOrSetAside(): { store: SqliteStore; notice: string | undefined } {
    const { file } = this.#options
    const replace = () => this.#ownerLock.runAlone(() => ({ name: setAside(file), store: this.#openStore() }))
    let replaced = isMarkedDamaged(file) ? replace() : undefined
    try {
      if (!replaced) return { store: this.#openWithReserve(), notice: undefined }
    } catch (error) {
      if (!isDamage(error)) throw error
      replaced = replace()
    }
    if (!replaced)
      throw new Error(
        `SPOOL_URL: "${file}" is damaged, and another replica has it open; stop all of them, then start one, which sets it aside`,
      )
    return {
      store: replaced.store,
      notice: `the spool's file was damaged and is set aside as ${replaced.name}; a new one is in its place`,
    }
  }

  /** Releases the reserve when the disk is too full to open the file. */
  #openWithReserve(): SqliteStore {
    try {
      return this.#openStore()
    } catch (error) {
      if (!isDiskFull(error) || !this.#reserve.isFilled()) throw error
      this.#reserve.release()
      return this.#openStore()
    }
  }

  #openStore(): SqliteStore {
    const { file, bounds, newId } = this.#options
    return new SqliteStore(file, bounds, newId)
  }

  /** Removes bodies without an entry, which a crash or a full disk has left. */
  #removeOrphans(): void {
    const { folder } = this.#options
    for (const name of readdirSync(folder)) if (!this.#store.hasFile(name)) rmSync(join(folder, name))
  }
}
