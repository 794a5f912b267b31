/** Bundles that replicas of several releases share, so that a page gets those of its loader from any replica. */

import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { brotliDecompressSync } from 'node:zlib'
import { BUNDLES_KEPT_MS, type BundleStore } from '../spool/spool.ts'
import { type Content, createContent } from './content.ts'

const REFRESH_MS = 60 * 60 * 1000 // 1 h
const RETRY_MS = 60 * 1000 // 1 min
const START_MS = 2_000
const MAX_BYTES = 4 * 1024 * 1024 // of a bundle, decompressed
const MAX_FILES = 40 // ten releases
const MAX_CONTENTS = 16
const FILE = /^[a-z]+-([0-9a-f]{16})\.js$/

export type SharedBundlesDeps = {
  /** Bundles of this release by the name of their file. */
  own: ReadonlyMap<string, Content>
  /** Returns `undefined` while there is no store. */
  store: () => BundleStore | undefined
  /** Called with the first of several failures. */
  onFailure: (error: unknown) => void
}

export class SharedBundles {
  readonly #deps: SharedBundlesDeps
  /** Bundles of other releases that were read in the last hour. */
  readonly #contents = new Map<string, Content>()
  #timer: NodeJS.Timeout | undefined
  #hasFailed = false
  #isStopped = false

  constructor(deps: SharedBundlesDeps) {
    this.#deps = deps
  }

  /**
   * Stores the bundles of this release, again each hour, so that they are kept for a day after the last replica of it. Resolves when they
   * are stored, so that no loader names a bundle that other replicas cannot have, or after 2 s.
   */
  async start(): Promise<void> {
    await Promise.race([this.#publish(), wait(START_MS, undefined, { ref: false })])
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  /** Returns a bundle of another release; `undefined` when no replica had it in the last day. */
  async read(file: string): Promise<Content | undefined> {
    const [, hash] = FILE.exec(file) ?? []
    if (hash === undefined) return undefined
    const known = this.#contents.get(file)
    if (known) return known
    const content = await this.#load(file, hash).catch(() => undefined)
    const [oldest] = this.#contents.keys()
    if (content) this.#contents.set(file, content)
    if (oldest !== undefined && this.#contents.size > MAX_CONTENTS) this.#contents.delete(oldest)
    return content
  }

  /** Reads a bundle. One whose content is not that of its name is not served. */
  async #load(file: string, hash: string): Promise<Content | undefined> {
    const br = await this.#deps.store()?.read(file)
    if (!br) return undefined
    const bytes = brotliDecompressSync(br, { maxOutputLength: MAX_BYTES })
    const isIntact = createHash('sha256').update(bytes).digest('hex').startsWith(hash)
    return isIntact ? createContent(bytes, { br }) : undefined
  }

  async #publish(): Promise<void> {
    this.#contents.clear()
    const { own, store, onFailure } = this.#deps
    const bundles = store()
    try {
      await bundles?.write(new Map(Array.from(own, ([file, { bodies }]) => [file, bodies.br])))
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) onFailure(error)
      this.#hasFailed = true
    }
    if (this.#isStopped) return
    const isStored = bundles !== undefined && !this.#hasFailed
    this.#timer = setTimeout(() => void this.#publish(), isStored ? REFRESH_MS : RETRY_MS).unref()
  }
}

/** Stores bundles in a folder, for replicas of one machine. The time of a file is when a replica last had it. */
export class BundleFolder implements BundleStore {
  readonly #folder: string
  readonly #now: () => number

  constructor(folder: string, now: () => number) {
    this.#folder = folder
    this.#now = now
  }

  async read(file: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const path = join(this.#folder, file)
    const { mtimeMs } = await stat(path)
    return this.#now() - mtimeMs < BUNDLES_KEPT_MS ? readFile(path) : undefined
  }

  async write(bundles: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const time = new Date(this.#now())
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    for (const [file, bytes] of bundles) {
      const partial = join(this.#folder, `${randomUUID()}.new`)
      await writeFile(partial, bytes, { mode: 0o600 })
      await utimes(partial, time, time)
      await rename(partial, join(this.#folder, file))
    }
    await this.#removeOld()
  }

  /** Removes files after a day, and the oldest ones of many. */
  async #removeOld(): Promise<void> {
    const names = await readdir(this.#folder)
    const files = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#folder, name)
        const { mtimeMs = 0 } = (await stat(path).catch(() => undefined)) ?? {}
        return { path, mtimeMs }
      }),
    )
    files.sort((a, b) => b.mtimeMs - a.mtimeMs)
    for (const [index, { path, mtimeMs }] of files.entries())
      if (index >= MAX_FILES || this.#now() - mtimeMs >= BUNDLES_KEPT_MS) await rm(path, { force: true })
  }
}
