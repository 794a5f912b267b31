/** The spool's SQLite file with its lock and its reserve. Synchronous: it runs in a worker thread, since a commit blocks. */

import { type Call, CallRunner, isDiskFull, type Result } from './calls.ts'
import {
  DamagedFile,
  FileDeleted,
  isDamage,
  isIntact,
  isMarkedDamaged,
  listDamaged,
  markDamaged,
  OpenFiles,
  removeMark,
  setAside,
} from './damaged-files.ts'
import { OwnerLock } from './locks.ts'
import { Reserve } from './space.ts'
import { SqliteStore, type StoreBounds } from './sqlite-store.ts'

const CHECK_MS = 60_000 // it reads the whole file

export type SpoolFileOptions = { file: string; bounds: StoreBounds; newId: string }

export class SpoolFile {
  readonly id: string
  /** Message for the operator. */
  readonly notice: string | undefined
  readonly #options: SpoolFileOptions
  readonly #reserve: Reserve
  readonly #ownerLock: OwnerLock
  readonly #store: SqliteStore
  readonly #runner: CallRunner
  readonly #openFiles: OpenFiles
  #checkedAt = -Infinity

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
    this.#openFiles = new OpenFiles(file)
    this.#reserve.fill()
    if (listDamaged(file).length === 0) this.#ownerLock.runAlone(() => store.removeOrphans()) // they may be bodies of entries that can be recovered
  }

  /** Returns when all calls are on disk. */
  run(calls: readonly Call[]): Result[] {
    const { file } = this.#options
    if (calls.some(({ name }) => name === 'probe')) this.#recover()
    const missing = this.#openFiles.missing()
    if (missing !== undefined) this.#runner.fault = new FileDeleted(missing)
    const results = this.#runner.run(calls)
    if (missing !== undefined) this.#store.log.checkpoint('RESTART') // what only a deleted log has would be lost with this process
    if (this.#store.hasFoundDamage || results.some(({ error }) => isDamage(error))) {
      if (!isMarkedDamaged(file)) markDamaged(file)
      this.#runner.fault ??= new DamagedFile(file, this.#store.unreadable)
    }
    return results
  }

  /** Called while there are no calls. Returns `false` to be called again, also after an error of the disk: no call waits for it. */
  idle(): boolean {
    try {
      return this.#runner.shortenLogWhenIdle()
    } catch {
      return false
    }
  }

  /** Accepts entries again when the damage has passed, as read errors of a disk may. */
  #recover(): void {
    const { file } = this.#options
    const isDue = performance.now() - this.#checkedAt >= CHECK_MS
    if (!(this.#runner.fault instanceof DamagedFile) || !isDue) return
    const intact = isIntact(file)
    this.#checkedAt = performance.now()
    if (!intact) return
    this.#runner.fault = undefined
    this.#store.forgetDamage()
    removeMark(file)
  }

  close(): void {
    this.#store.close()
    this.#ownerLock.close()
  }

  /**
   * Opens the file. Puts a new one in the place of a damaged one, unless another replica has that open. A file that was only marked, or that
   * could not be read for a moment, is checked first.
   */
  #openOrSetAside(): { store: SqliteStore; notice: string | undefined } {
    const { file } = this.#options
    const replace = () =>
      this.#ownerLock.runAlone(() => {
        const name = isIntact(file) ? undefined : setAside(file)
        removeMark(file)
        return { name, store: this.#openStore() }
      })
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
    if (replaced.name === undefined)
      return {
        store: replaced.store,
        notice: 'reading the spool failed before, but its file is intact; look at the disk and its log',
      }
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
}
