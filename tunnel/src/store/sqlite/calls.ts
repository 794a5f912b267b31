/** Runs calls of other threads on the store. On a full disk, delivery goes on with the reserve, and puts are rejected. */

import type { EntryAdmin } from './admin.ts'
import { isDamage } from './damaged-files.ts'
import type { EndedEntries } from './ended-entries.ts'
import type { FormerInbox } from './former-inbox.ts'
import { hasErrorCode, LockHeld } from './locks.ts'
import type { SharedTables } from './shared-tables.ts'
import type { Reserve } from './space.ts'
import type { SqliteStore } from './sqlite-store.ts'
import type { Summaries } from './summaries.ts'
import type { CheckpointMode } from './write-ahead-log.ts'

/** Methods that other threads may call. */
export type Calls = Pick<
  SqliteStore,
  'put' | 'take' | 'read' | 'extend' | 'postpone' | 'finish' | 'expire' | 'totals' | 'probe' | 'resend'
> &
  Pick<
    EndedEntries,
    'keep' | 'listEnded' | 'countEnded' | 'readEnded' | 'purgeEnded' | 'findKept' | 'release' | 'releaseFiles'
  > &
  Pick<EndedEntries, 'endedProjects'> &
  Pick<Summaries, 'listKept' | 'listGroups' | 'countArrived'> &
  Pick<FormerInbox, 'adoptFormer'> &
  Omit<EntryAdmin, 'paused'> &
  SharedTables

export type Call = { number: number; name: keyof Calls; args: unknown[] }
export type Result = { number: number; value?: unknown; error?: Error }

/**
 * Effect of a call on the file. Those that accept data (`grows`), or write a whole row again (`lengthens`), may make it longer; those that
 * end deliveries do so when the entries stay.
 */
type Effect = 'reads' | 'grows' | 'lengthens' | 'ends' | 'changes'
const EFFECTS: Record<keyof Calls, Effect> = {
  ...{ put: 'grows', keep: 'grows', resend: 'grows', adoptFormer: 'grows', putValue: 'grows' },
  ...{ addSnapshots: 'grows', probe: 'grows', take: 'lengthens', postpone: 'lengthens' },
  ...{ finish: 'ends', expire: 'ends', extend: 'changes', retry: 'changes', purge: 'changes' },
  ...{ pause: 'changes', resume: 'changes', purgeEnded: 'changes' },
  ...{ release: 'changes', releaseFiles: 'changes', read: 'reads', totals: 'reads', list: 'reads' },
  ...{ findEvent: 'reads', readEnded: 'reads', listEnded: 'reads', countEnded: 'reads', findKept: 'reads' },
  ...{ listKept: 'reads', listGroups: 'reads', countArrived: 'reads', endedProjects: 'reads' },
  ...{ getValue: 'reads', readSnapshots: 'reads' },
}

const MIN_GROWTH = 256 * 1024 // of a bound of a few megabytes

const SQLITE_IOERR = 10 // a full disk, when it stops the growth of the shared-memory file
const SQLITE_FULL = 13

/** The log cannot be moved into the file, or takes the whole reserve. */
class LogFull extends Error {
  override readonly message =
    'the write-ahead log is full: the disk is full or slow, or another process reads the file'
}

/** Another replica has given up the reserve since the batch began. */
class ReserveGone extends LogFull {}

export class CallRunner {
  /** Reason why the file must take no more entries. */
  fault: Error | undefined
  readonly #store: SqliteStore
  readonly #reserve: Reserve
  readonly #walBytes: number
  /** With more, a full disk would have no room for moving the log into the file, and could not deliver. */
  readonly #maxGrowth: number
  readonly #methods: ReadonlyMap<string, (...args: unknown[]) => unknown>
  /** The reserve was there when the current batch began. */
  #hasReserve = false

  constructor(store: SqliteStore, reserve: Reserve, walBytes: number) {
    this.#store = store
    this.#reserve = reserve
    this.#walBytes = walBytes
    this.#maxGrowth = Math.max(reserve.bytes - (5 / 8) * walBytes, MIN_GROWTH) // one row may follow
    this.#methods = new Map(Object.keys(EFFECTS).map((name) => [name, methodOf(store, name)]))
    store.ended.hasRoom = () => !this.fault && reserve.isFilled()
  }

  /** Returns when all calls are on disk. Waits for other replicas once, and for calls that only read not at all. */
  run(calls: readonly Call[]): Result[] {
    this.#store.lockWait.begin()
    const { reads = [], writes = [] } = Object.groupBy(calls, ({ name }) =>
      EFFECTS[name] === 'reads' ? 'reads' : 'writes',
    )
    return [...this.#split(writes).flatMap((batch) => this.#runTogether(batch)), ...this.#read(reads)]
  }

  /** Moves the log into the file while there are no calls, so that puts seldom wait for it. Returns `false` to be called again. */
  shortenLogWhenIdle(): boolean {
    return this.#store.log.shortenWhenIdle(this.#checkpointMode())
  }

  #read(calls: readonly Call[]): Result[] {
    if (calls.length === 0) return []
    try {
      return this.#store.view(() => calls.map((call) => resultOf(call, () => this.#perform(call))))
    } catch (error) {
      return calls.map((call) => failure(call, error))
    }
  }

  #runTogether(calls: readonly Call[]): Result[] {
    this.#hasReserve = this.#reserve.isFilled()
    const isShort = this.#store.log.shorten(this.#checkpointMode())
    const ofWrites = this.#hasRoomForLog() ? undefined : new LogFull()
    const ofGrowth = ofWrites ?? (calls.some(isGrowing) ? this.#rejectionOf(isShort) : undefined)
    const accepted: Call[] = []
    const rejected: Result[] = []
    for (const call of calls) {
      const rejection = isGrowing(call) ? ofGrowth : ofWrites
      if (rejection) rejected.push(failure(call, rejection))
      else accepted.push(call)
    }
    return accepted.length === 0 ? rejected : [...rejected, ...this.#commitTogether(accepted)]
  }

  /** When one of the calls fails, each gets its own transaction. */
  #commitTogether(calls: readonly Call[]): Result[] {
    try {
      const values = this.#commit(calls)
      return calls.map(({ number }, index) => ({ number, value: values[index] }))
    } catch (error) {
      if (error instanceof ReserveGone) return this.#runTogether(calls)
      if (error instanceof LogFull) this.#store.log.checkpoint(this.#checkpointMode())
      const mayPass = calls.length > 1 || isDiskFull(error) || isDamage(error) || error instanceof LogFull
      if (error instanceof LockHeld || !mayPass) return calls.map((call) => failure(call, error))
      return calls.map((call) => this.#runAlone(call))
    }
  }

  /** Without the reserve, the rest of the disk is for moving the log into the file: a longer log would take it away. */
  #hasRoomForLog(): boolean {
    return this.#reserve.isFilled() || this.#store.log.checkpoint('RESTART')
  }

  /** An earlier call may have given up the reserve, or another replica. */
  #runAlone(call: Call): Result {
    return resultOf(call, () => {
      if (!this.#hasRoomForLog()) throw new LogFull()
      const rejection = isGrowing(call) ? this.#rejectionOf(true) : undefined
      if (rejection) throw rejection
      try {
        return this.#commitOne(call)
      } catch (error) {
        if (!needsRoom(error)) throw error
        return this.#runWithMoreRoom(call)
      }
    })
  }

  /** Moving the log into the file makes room in it. Only calls that free space get the reserve, too. */
  #runWithMoreRoom(call: Call): unknown {
    try {
      this.#store.log.checkpoint(this.#checkpointMode())
      return this.#commitOne(call)
    } catch (error) {
      if (!needsRoom(error) || (isGrowing(call) && !this.#releaseEnded())) throw error
    }
    if (!isGrowing(call)) {
      this.#store.commit(() => this.#reserve.release()) // from now on, nothing stays of entries that end
      this.#hasReserve = false
      if (!this.#hasRoomForLog()) throw new LogFull()
    }
    return this.#commitOne(call)
  }

  /** Returns why no entry is accepted, so that the disk keeps the room that delivery needs. */
  #rejectionOf(isLogShort: boolean): Error | undefined {
    if (this.fault) return this.fault
    const hasReserve = () => this.#reserve.fill() || this.#store.freeBytes() > this.#reserve.bytes
    if (!hasReserve() && !(this.#releaseEnded() && hasReserve()))
      return new Error('the disk is full: the rest of it is for delivering pending envelopes')
    return isLogShort ? undefined : new LogFull()
  }

  /** Removes ended entries from a full disk. Returns `false` when there are none, or the disk cannot even note that. */
  #releaseEnded(): boolean {
    const bytes = 2 * this.#reserve.bytes // the reserve may have to wait for the space that this makes in the file
    return this.#runAlone({ number: 0, name: 'release', args: [bytes] }).value === true
  }

  /** While there is no reserve, the log keeps its space. */
  #checkpointMode(): CheckpointMode {
    return this.#reserve.isFilled() ? 'TRUNCATE' : 'RESTART'
  }

  /**
   * Throws when another replica has given up the reserve, which it does with the lock that this transaction has: the space is for moving the
   * log into the file, and a batch that was admitted before would take it.
   */
  #commit(calls: readonly Call[]): unknown[] {
    return this.#store.commit(() => {
      const hasReserve = this.#reserve.isFilled()
      if (this.#hasReserve && !hasReserve) throw new ReserveGone()
      const values = calls.map((call) => this.#perform(call))
      const isLonger = calls.some((call) => isLengthening(call, hasReserve))
      if (isLonger && this.#store.log.growthOfFile() > this.#maxGrowth) throw new LogFull()
      return values
    })
  }

  /** Repeats a call that has met damaged pages without them, where that is possible. */
  #commitOne(call: Call): unknown {
    try {
      return this.#commit([call])[0]
    } catch (error) {
      if (!isDamage(error)) throw error
      const { name, args } = call
      if (name === 'expire') return this.#store.expireFromDamaged(...(args as Parameters<Calls['expire']>))
      if (name === 'take') {
        const [limit, leaseMs, demands] = args as Parameters<Calls['take']>
        return this.#store.takeFromDamaged(limit, leaseMs, demands)
      }
      if (name !== 'finish') throw error
      const [id, until] = args as Parameters<Calls['finish']>
      return this.#store.commit(() => this.#store.finish(id, until))
    }
  }

  #perform({ name, args }: Call): unknown {
    return this.#methods.get(name)?.(...args)
  }

  /** One transaction holds up to half of the log, or one larger entry. */
  #split(calls: readonly Call[]): Call[][] {
    const batches: Call[][] = []
    let left = 0
    for (const call of calls) {
      const bytes = bytesOf(call)
      left -= bytes
      const last = batches.at(-1)
      if (last && left >= 0) last.push(call)
      else {
        batches.push([call])
        left = this.#walBytes / 2 - bytes
      }
    }
    return batches
  }
}

function methodOf(store: SqliteStore, name: string): (...args: unknown[]) => unknown {
  const { admin, shared, ended, summaries, formerInbox } = store
  const owners = [store, admin, shared, ended, summaries, formerInbox]
  const owner = owners.find((each) => name in each) ?? store
  return Reflect.get(owner, name).bind(owner)
}

function isGrowing({ name }: Call): boolean {
  return EFFECTS[name] === 'grows'
}

/** Returns `true` for a call that may make the file longer. Without a reserve, nothing stays of entries that end. */
function isLengthening({ name, args }: Call, hasReserve: boolean): boolean {
  const effect = EFFECTS[name]
  const isEnding = effect === 'ends' && !(name === 'finish' && args[2] === undefined)
  return effect === 'grows' || effect === 'lengthens' || (isEnding && hasReserve)
}

function needsRoom(error: unknown): boolean {
  return isDiskFull(error) || error instanceof LogFull
}

export function isDiskFull(error: unknown): boolean {
  return hasErrorCode(error, [SQLITE_FULL, SQLITE_IOERR])
}

/** Returns about the bytes that a call writes. An entry that stays after its delivery is copied. */
function bytesOf({ name, args }: Call): number {
  const [, , end] = name === 'finish' ? (args as Parameters<Calls['finish']>) : []
  return args.reduce<number>(
    (sum, arg) => sum + (arg instanceof Uint8Array ? arg.byteLength : (JSON.stringify(arg)?.length ?? 0)),
    end?.bytes ?? 0,
  )
}

function resultOf(call: Call, work: () => unknown): Result {
  try {
    return { number: call.number, value: work() }
  } catch (error) {
    return failure(call, error)
  }
}

function failure({ number }: Call, error: unknown): Result {
  return { number, error: error instanceof Error ? error : new Error(String(error)) }
}
