/** State that the replicas of one spool share, and that is no envelope. */

/** Value that replicas share. `revision` is 0 for one that was never stored. */
export type SharedValue = { value: string | undefined; revision: number }

/** Time for which a bundle of the SDK is kept after a replica last wrote it: a day, and the hour until it does so again. */
export const BUNDLES_KEPT_MS = 25 * 60 * 60 * 1000

/** Store of the bundles of the SDK, compressed with brotli, which replicas of several releases share. */
export type BundleStore = {
  read(file: string): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** Stores bundles by the names of their files, or keeps them for longer. */
  write(bundles: ReadonlyMap<string, Uint8Array>): Promise<void>
}

/** Row of one replica, for the step that begins at `time`. `data` is a `Snapshot` as JSON. Times are in milliseconds since 1970. */
export type SnapshotRow = { step: number; time: number; replica: string; data: string }

/** Stores rows for the replicas that share it, and drops old ones. */
export type SnapshotStore = {
  /** A row replaces the one with the same step, time and replica. */
  add(rows: readonly SnapshotRow[]): Promise<void>
  /** Returns the rows of a step that begin at `from` or later, in any order. */
  read(step: number, from: number): Promise<SnapshotRow[]>
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Steps in which each replica counts, and the age up to which rows are kept. */
export const SNAPSHOT_STEPS: readonly { step: number; keepMs: number }[] = [
  { step: MINUTE_MS, keepMs: 90 * MINUTE_MS },
  { step: 10 * MINUTE_MS, keepMs: 25 * HOUR_MS },
  { step: HOUR_MS, keepMs: 7 * DAY_MS + 2 * HOUR_MS },
]

export type SharedState = {
  /** Returns a value by its key of letters, digits and dashes. */
  get(key: string): Promise<SharedValue>
  /** Stores a value if the current one still has this revision. Returns `false` when another replica has stored one. */
  put(key: string, value: string, revision: number): Promise<boolean>
  /** Returns the milliseconds by which the clock of the store is ahead of this machine's; 0 where they agree within seconds. */
  clockOffsetMs(): number
  /** Snapshots of the counters. A row is rejected while the disk has only the room that delivery needs. */
  readonly snapshots: SnapshotStore
  readonly bundles: BundleStore
}

const MAX_ATTEMPTS = 10
/** Maximum size of a shared map. On NATS, several share a bucket of 1 MiB, where the old and the new value need room. */
const MAX_BYTES = 256 * 1024

/**
 * Replaces a shared value by what `change` returns, again when another replica has replaced it meanwhile. Leaves it when `change` returns
 * `undefined`. Rejects when others replace it all the time.
 */
export async function changeShared(
  state: Pick<SharedState, 'get' | 'put'>,
  key: string,
  change: (value: string | undefined) => string | undefined,
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { value, revision } = await state.get(key)
    const changed = change(value)
    if (changed === undefined || (await state.put(key, changed, revision))) return
  }
  throw new Error(`other replicas change "${key}" all the time`)
}

/**
 * Parses a shared value. Returns `undefined` for one that is missing or no JSON. Replicas of two releases share it during a deploy: a value of
 * another form gets another key.
 */
export function parseShared<T>(value: string | undefined): T | undefined {
  try {
    return JSON.parse(value ?? '') ?? undefined
  } catch {
    return undefined
  }
}

/** Clocks of replicas differ by this at most. */
const CLOCKS_MS = 5_000

/** Entry of a shared map. It is forgotten at `until`, in milliseconds since 1970 by the clock of this replica. */
export type SharedEntry<Value> = { value: Value; until: number }

export type SharedMapDeps<Value> = {
  state: Pick<SharedState, 'get' | 'put' | 'clockOffsetMs'>
  /** Letters, digits and dashes. */
  key: string
  /** Chooses between two entries of one name. By default the own one replaces the stored one. */
  merge?: (stored: SharedEntry<Value>, own: SharedEntry<Value>) => SharedEntry<Value>
  /** An entry that would last longer was written by a wrong clock, and is ignored. */
  maxMs: number
  /** Called when entries were left out because there are too many. */
  onLeftOut?: () => void
  /** Milliseconds since 1970. */
  now: () => number
}

/** Map that the replicas share, stored as one value: JSON of its entries by name. */
export class SharedMap<Value> {
  readonly #deps: SharedMapDeps<Value>

  constructor(deps: SharedMapDeps<Value>) {
    this.#deps = deps
  }

  async read(): Promise<Map<string, SharedEntry<Value>>> {
    return this.#parse((await this.#deps.state.get(this.#deps.key)).value)
  }

  /** Merges own entries into those of all replicas, and returns the result. Writes only a change. */
  async merge(own: ReadonlyMap<string, SharedEntry<Value>>): Promise<Map<string, SharedEntry<Value>>> {
    const { merge = (_, entry) => entry } = this.#deps
    return this.update((entries) => {
      for (const [name, entry] of own) {
        const known = entries.get(name)
        entries.set(name, known ? merge(known, entry) : entry)
      }
    })
  }

  /** Changes the entries of all replicas, again when another one has changed them meanwhile. Returns the result. Writes only a change. */
  async update(
    change: (entries: Map<string, SharedEntry<Value>>) => void,
  ): Promise<Map<string, SharedEntry<Value>>> {
    const { state, key } = this.#deps
    let entries = new Map<string, SharedEntry<Value>>()
    await changeShared(state, key, (value) => {
      const stored = this.#parse(value)
      entries = new Map(stored)
      change(entries)
      const isChanged =
        entries.size !== stored.size ||
        entries.keys().some((name) => !isSame(stored.get(name), entries.get(name)))
      return isChanged ? this.#format(entries) : undefined
    })
    return entries
  }

  /** Leaves out the entries that end first if there are too many. */
  #format(entries: ReadonlyMap<string, SharedEntry<Value>>): string {
    const offsetMs = this.#deps.state.clockOffsetMs()
    let bytes = 0
    const texts = [...entries]
      .sort(([, a], [, b]) => b.until - a.until)
      .map(([name, { value, until }]) => JSON.stringify([name, value, until + offsetMs]))
    const kept = texts.filter((text) => {
      bytes += text.length + 1
      return bytes < MAX_BYTES
    })
    if (kept.length < texts.length) this.#deps.onLeftOut?.()
    return `[${kept.join(',')}]`
  }

  /** Leaves out entries that have ended. */
  #parse(stored: string | undefined): Map<string, SharedEntry<Value>> {
    const { state, maxMs, now } = this.#deps
    const offsetMs = state.clockOffsetMs()
    const entries = new Map<string, SharedEntry<Value>>()
    for (const [name, value, end] of parseShared<[string, Value, number][]>(stored) ?? []) {
      const leftMs = end - offsetMs - now()
      if (leftMs > 0 && leftMs <= maxMs + CLOCKS_MS) entries.set(name, { value, until: end - offsetMs })
    }
    return entries
  }
}

function isSame<Value>(a: SharedEntry<Value> | undefined, b: SharedEntry<Value> | undefined): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}
