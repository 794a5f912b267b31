/** The spool's SQLite file with its lock and its reserve. Synchronous: it runs in a worker thread, since a commit blocks. */

import { type Call, CallRunner, isDiskFull, type Result } from './calls.ts'
import {
  DamagedFile,
  isDamage,
  isIntact,
  isMarkedDamaged,
  listDamaged,
  markDamaged,
  removeMark,
  setAside,
} from './damaged-files.ts'
import { OwnerLock } from './locks.ts'
import { Reserve } from './space.ts'
import { SqliteStore, type StoreBounds } from './sqlite-store.ts'

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

  /** Opens the file, or creates it. Throws when it is damaged and another replica has it open. */
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
    if (listDamaged(file).length === 0) this.#ownerLock.runAlone(() => store.removeOrphans()) // they may be bodies of entries that can be recovered
  }

  /** Returns when all calls are on disk. */
  run(calls: readonly Call[]): Result[] {
    const results = this.#runner.run(calls)
    if (results.some(({ error }) => isDamage(error))) this.#store.isDamaged = true
    if (!this.#runner.fault && this.#store.isDamaged) {
      this.#runner.fault = new DamagedFile(this.#options.file)
      markDamaged(this.#options.file)
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

  close(): void {
    this.#store.close()
    this.#ownerLock.close()
  }

  /**
   * Opens the file. Puts a new one in the place of a damaged one, unless another replica has that open. A file that was only marked, or that
   * could not be read for a moment, is checked first.
   */
  #openOrSetAside(): { store: SqliteStore; notice?: string } {
    const { file } = this.#options
    try {
      const checked = isMarkedDamaged(file) ? this.#check() : undefined
      return checked ?? { store: this.#openWithReserve() }
    } catch (error) {
      if (!isDamage(error)) throw error
    }
    const checked = this.#check()
    if (checked) return checked
    throw new Error(
      `SPOOL_URL: "${file}" is damaged, and another replica has it open; stop all of them, then start one, which sets it aside`,
    )
  }

  /** Opens the file alone, or a new one if it is damaged. Returns `undefined` while another replica has it open. */
  #check(): { store: SqliteStore; notice: string } | undefined {
    const { file } = this.#options
    return this.#ownerLock.runAlone(() => {
      const notice = isIntact(file)
        ? 'reading the spool failed before, but its file is intact; look at the disk and its log'
        : `the spool's file was damaged and is set aside as ${setAside(file)}; a new one is in its place`
      removeMark(file)
      return { store: this.#openStore(), notice }
    })
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
