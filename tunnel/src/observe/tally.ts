/** Tally: the number of envelopes that got an outcome, in a file that outlives a killed process. */

import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundedMap } from '../pipeline/bounded-map.ts'
import type { Tally } from './counters.ts'

/** Tally of another replica. `changed` is in milliseconds since 1970. */
export type FoundTally = { replica: string; counted: number; changed: number }

const PREFIX = 'envelopes-'
const SLOT_BYTES = 64 // divides a page, so that no write is torn
/** Covers the envelopes whose responses had not left when the process was killed. */
const SLOTS = 1024
const MAX_RETRIED = 10_000

/**
 * File of one process: a ring of the last numbers, and the IDs of their requests. Each envelope writes one slot, which goes to the cache of
 * the system: it survives the process, and costs about 2 µs.
 */
export class TallyFile implements Tally {
  counted = 0
  readonly #folder: string
  readonly #replica: string
  readonly #onFailure: (error: unknown) => void
  readonly #slot = Buffer.alloc(SLOT_BYTES)
  /** Envelopes of a retried request that a lost replica had counted, and this one has not met yet. */
  readonly #countedElsewhere = new BoundedMap<string, number>(MAX_RETRIED)
  #handle: number | undefined

  /** Counts in memory only when there can be no file. */
  constructor(folder: string, replica: string, onFailure: (error: unknown) => void) {
    this.#folder = folder
    this.#replica = replica
    this.#onFailure = onFailure
    this.create()
  }

  /** Creates the file. It is gone when other replicas took this one for lost. */
  create(): void {
    try {
      this.#close()
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      this.#handle = openSync(this.#path(), 'w', 0o600)
      writeSync(this.#handle, Buffer.alloc(SLOTS * SLOT_BYTES)) // no later write needs room on the disk
      this.#write('')
    } catch (error) {
      this.#fail(error)
    }
  }

  note(requestId: string, isRetry: boolean): void {
    if (isRetry && this.#wasCountedElsewhere(requestId)) return
    this.counted++
    this.#write(requestId)
  }

  /** Shows the other replicas that this one lives. Returns `false` when they took it for lost, and removed its file. */
  async touch(): Promise<boolean> {
    if (this.#handle === undefined) return true
    const now = new Date()
    return utimes(this.#path(), now, now).then(
      () => true,
      () => this.#handle === undefined, // it was removed by a stop meanwhile
    )
  }

  /** Returns the tallies of the other replicas of this folder. */
  async others(): Promise<FoundTally[]> {
    const names = await readdir(this.#folder).catch(() => [])
    const found = names.filter((name) => this.#isOther(name)).map((name) => this.#find(name))
    return (await Promise.all(found)).filter((each) => each !== undefined)
  }

  async removeOther(replica: string): Promise<void> {
    await rm(this.#path(replica), { force: true })
  }

  /** Removes the file, after all that it counts is stored. */
  remove(): void {
    if (this.#handle === undefined) return
    this.#close()
    rmSync(this.#path(), { force: true })
  }

  async #find(name: string): Promise<FoundTally | undefined> {
    try {
      const path = join(this.#folder, name)
      const { mtimeMs } = await stat(path)
      const counted = Math.max(0, ...slotsOf(await readFile(path)).map((slot) => slot.readDoubleLE()))
      return { replica: name.slice(PREFIX.length), counted, changed: Math.floor(mtimeMs) }
    } catch {
      return undefined // another replica was first
    }
  }

  #wasCountedElsewhere(requestId: string): boolean {
    const left = this.#countedElsewhere.get(requestId) ?? this.#countElsewhere(requestId)
    this.#countedElsewhere.set(requestId, left - 1)
    return left > 0
  }

  /** Returns the number of envelopes of a request that other replicas have counted. It blocks, but a request is seldom sent again. */
  #countElsewhere(requestId: string): number {
    try {
      const others = readdirSync(this.#folder).filter((name) => this.#isOther(name))
      const slots = others.flatMap((name) => slotsOf(readFileSync(join(this.#folder, name))))
      return slots.filter((slot) => slot.toString('latin1', 8, 8 + requestId.length) === requestId).length
    } catch {
      return 0 // the folder is gone, or a file was removed meanwhile
    }
  }

  #write(requestId: string): void {
    if (this.#handle === undefined) return
    this.#slot.writeDoubleLE(this.counted)
    this.#slot.write(requestId, 8, 'latin1')
    try {
      writeSync(this.#handle, this.#slot, 0, SLOT_BYTES, (this.counted % SLOTS) * SLOT_BYTES)
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    this.#close()
    this.#onFailure(error)
  }

  #close(): void {
    if (this.#handle !== undefined) closeSync(this.#handle)
    this.#handle = undefined
  }

  #isOther(name: string): boolean {
    return name.startsWith(PREFIX) && name !== PREFIX + this.#replica
  }

  #path(replica = this.#replica): string {
    return join(this.#folder, PREFIX + replica)
  }
}

function slotsOf(file: Buffer): Buffer[] {
  return Array.from({ length: Math.floor(file.length / SLOT_BYTES) }, (_, i) =>
    file.subarray(i * SLOT_BYTES, (i + 1) * SLOT_BYTES),
  )
}
