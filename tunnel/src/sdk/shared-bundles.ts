/** Bundles that replicas of several releases share, so that a page gets those of its loader from any replica. */

import { createHash, randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { brotliDecompressSync } from 'node:zlib'
import { BoundedMap } from '../pipeline/bounded-map.ts'
import { BUNDLES_KEPT_MS, type BundleStore } from '../pipeline/shared-state.ts'
import { type Content, createContent } from './content.ts'

const REFRESH_MS = 60 * 60 * 1000 // 1 h
const RETRY_MS = 60 * 1000 // 1 min
const START_MS = 2_000
const MISS_MS = 5_000
const MAX_BYTES = 4 * 1024 * 1024 // of a bundle, decompressed
const MAX_FILES = 40 // ten releases
const MAX_CONTENTS = 16
const MAX_MISSES = 1_000
const FILE = /^[a-z]+-([0-9a-f]{16})\.js$/
const PARTIAL = /\.new$/
const PARTIAL_MS = 60 * 1000 // 1 min
const WRITABLE_BY_OTHERS = 0o022

type Operation = 'read' | 'write'

export type SharedBundlesDeps = {
  /** Bundles of this release by the name of their file. */
  own: ReadonlyMap<string, Content>
  /** Returns `undefined` while there is no store. */
  store: () => BundleStore | undefined
  now: () => number
  /** Called with the first of several failures of an operation. */
  onFailure: (error: unknown, operation: Operation) => void
}

export class SharedBundles {
  readonly #deps: SharedBundlesDeps
  /** Bundles of other releases that were read in the last hour. */
  readonly #contents = new BoundedMap<string, Content>(MAX_CONTENTS)
  /** Reads in progress. */
  readonly #reads = new Map<string, Promise<Content | undefined>>()
  /** Times until which a file is known to be missing. */
  readonly #misses = new BoundedMap<string, number>(MAX_MISSES)
  readonly #failing = new Set<Operation>()
  #timer: NodeJS.Timeout | undefined
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

  /** Returns a bundle of another release; `undefined` when no replica had it in the last day. Rejects when the store fails. */
  async read(file: string): Promise<Content | undefined> {
    const [, hash] = FILE.exec(file) ?? []
    if (hash === undefined || this.#deps.now() < (this.#misses.get(file) ?? 0)) return undefined
    const known = this.#contents.get(file) ?? this.#reads.get(file)
    if (known) return known
    const reading = this.#load(file, hash)
    this.#reads.set(file, reading)
    try {
      const content = await reading
      if (content) this.#contents.set(file, content)
      else this.#misses.set(file, this.#deps.now() + MISS_MS)
      return content
    } finally {
      this.#reads.delete(file)
    }
  }

  async #load(file: string, hash: string): Promise<Content | undefined> {
    try {
      const store = this.#deps.store()
      if (!store) throw new Error('the store of the bundles does not respond')
      const br = await store.read(file)
      this.#failing.delete('read')
      return br && unpack(br, hash)
    } catch (error) {
      this.#report(error, 'read')
      throw error
    }
  }

  async #publish(): Promise<void> {
    this.#contents.clear()
    const { own, store } = this.#deps
    const bundles = store()
    try {
      await bundles?.write(new Map(Array.from(own, ([file, { bodies }]) => [file, bodies.br])))
      this.#failing.delete('write')
    } catch (error) {
      this.#report(error, 'write')
    }
    if (this.#isStopped) return
    const isStored = bundles !== undefined && !this.#failing.has('write')
    this.#timer = setTimeout(() => void this.#publish(), isStored ? REFRESH_MS : RETRY_MS).unref()
  }

  #report(error: unknown, operation: Operation): void {
    if (!this.#failing.has(operation)) this.#deps.onFailure(error, operation)
    this.#failing.add(operation)
  }
}

/** Returns the content of a bundle; `undefined` when it is not that of its name. */
function unpack(br: Uint8Array<ArrayBuffer>, hash: string): Content | undefined {
  try {
    const bytes = brotliDecompressSync(br, { maxOutputLength: MAX_BYTES })
    const isIntact = createHash('sha256').update(bytes).digest('hex').startsWith(hash)
    return isIntact ? createContent(bytes, { br }) : undefined
  } catch {
    return undefined
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
    try {
      await this.#protect()
      const { mtimeMs } = await stat(path)
      return this.#now() - mtimeMs < BUNDLES_KEPT_MS ? await readFile(path) : undefined
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async write(bundles: ReadonlyMap<string, Uint8Array>): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    await this.#protect()
    await this.#removeOld()
    for (const [file, bytes] of bundles) await this.#writeFile(file, bytes)
    await this.#removeOld()
  }

  async #writeFile(file: string, bytes: Uint8Array): Promise<void> {
    const partial = join(this.#folder, `${randomUUID()}.new`)
    const time = new Date(this.#now())
    try {
      await writeFile(partial, bytes, { mode: 0o600 })
      await utimes(partial, time, time)
      await rename(partial, join(this.#folder, file))
    } catch (error) {
      await rm(partial, { force: true })
      throw error
    }
  }

  /** Rejects when the folder belongs to another user, who could put scripts into it. Removes the write permission of other users. */
  async #protect(): Promise<void> {
    const { uid, mode } = await stat(this.#folder)
    const own = process.getuid?.()
    if (own !== undefined && uid !== own)
      throw new Error(
        `${this.#folder} belongs to the user ${uid}, not to ${own}, who runs the tunnel; change its owner, or remove it`,
      )
    if (mode & WRITABLE_BY_OTHERS) await chmod(this.#folder, 0o700)
  }

  /** Removes bundles after a day, the oldest ones of many, and what stopped writes have left. Ignores other files. */
  async #removeOld(): Promise<void> {
    const names = await readdir(this.#folder)
    const files = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#folder, name)
        const { mtimeMs = 0 } = (await stat(path).catch(() => undefined)) ?? {}
        return { name, path, ageMs: this.#now() - mtimeMs }
      }),
    )
    const partial = files.filter(({ name, ageMs }) => PARTIAL.test(name) && ageMs >= PARTIAL_MS)
    const bundles = files.filter(({ name }) => FILE.test(name)).sort((a, b) => a.ageMs - b.ageMs)
    const old = bundles.filter(({ ageMs }, index) => index >= MAX_FILES || ageMs >= BUNDLES_KEPT_MS)
    for (const { path } of [...partial, ...old]) await rm(path, { force: true })
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
