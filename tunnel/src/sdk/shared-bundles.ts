/** Bundles that replicas of several releases share, so that a page gets those of its loader from any replica. */

import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { brotliDecompressSync } from 'node:zlib'
import { BoundedMap } from '../pipeline/bounded-map.ts'
import type { BundleStore } from '../pipeline/shared-state.ts'
import { type Content, createContent } from './content.ts'

const REFRESH_MS = 60 * 60 * 1000 // 1 h
const RETRY_MS = 60 * 1000 // 1 min
const START_MS = 2_000
const MISS_MS = 5_000
const MAX_BYTES = 4 * 1024 * 1024 // of a bundle, decompressed
const MAX_CONTENTS = 16
const MAX_MISSES = 1_000
const FILE = /^[a-z]+-([0-9a-f]{16})\.js$/

type Operation = 'read' | 'write'

export type SharedBundlesDeps = {
  /** Bundles of this release by the name of their file. */
  own: ReadonlyMap<string, Content>
  store: BundleStore
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
      const br = await this.#deps.store.read(file)
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
    try {
      await store.write(new Map(Array.from(own, ([file, { bodies }]) => [file, bodies.br])))
      this.#failing.delete('write')
    } catch (error) {
      this.#report(error, 'write')
    }
    if (this.#isStopped) return
    const waitMs = this.#failing.has('write') ? RETRY_MS : REFRESH_MS
    this.#timer = setTimeout(() => void this.#publish(), waitMs).unref()
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
