/** Runs calls of other threads on the store. On a full disk, delivery goes on with the reserve, and puts are rejected. */

import type { EntryAdmin } from './admin.ts'
import type { EndedEntries } from './ended-entries.ts'
import { hasErrorCode, LockHeld } from './locks.ts'
import type { SharedTables } from './shared-tables.ts'
import type { Reserve } from './space.ts'
import type { SqliteStore } from './sqlite-store.ts'
import type { Summaries } from './summaries.ts'
import type { CheckpointMode } from './write-ahead-log.ts'

/** Subjects of the store, with the operations that other threads may ask for. Each has the name that `Spool` gives it. */
export type Subjects = {
  pending: SqliteStore
  admin: EntryAdmin
  entries: EndedEntries
  summaries: Summaries
  state: SharedTables
}

/** Effect on the file: it stays, changes, or takes new data. On a full disk, the data of `grows` is rejected; the oldest ended entries give way to that of `displaces`. */
type Effect = 'reads' | 'changes' | 'grows' | 'displaces'

const OPERATIONS = {
  pending: {
    ...{ put: 'displaces', take: 'changes', read: 'reads', extend: 'changes', postpone: 'changes' },
    ...{ finish: 'changes', expire: 'changes', totals: 'reads', probe: 'displaces', resend: 'displaces' },
  },
  admin: {
    ...{ list: 'reads', findEvent: 'reads', retry: 'changes', purge: 'changes' },
    ...{ pause: 'changes', resume: 'changes' },
  },
  entries: {
    ...{ keep: 'displaces', list: 'reads', count: 'reads', read: 'reads', findKept: 'reads' },
    ...{ purge: 'changes', release: 'changes' },
  },
  summaries: { list: 'reads', groups: 'reads', countArrived: 'reads' },
  state: {
    ...{ get: 'reads', put: 'displaces', addSnapshots: 'displaces', readSnapshots: 'reads' },
    ...{ readBundle: 'reads', writeBundle: 'grows' },
  },
} as const satisfies { [S in keyof Subjects]: { [Name in keyof Subjects[S]]?: Effect } }

type Operations = typeof OPERATIONS
type Method<S extends keyof Subjects, Name> = Name extends keyof Subjects[S]
  ? Extract<Subjects[S][Name], (...args: never[]) => unknown>
  : never

/** Runs an operation. */
export type RunCall = <S extends keyof Subjects, Name extends keyof Operations[S]>(
  subject: S,
  name: Name,
  ...args: Parameters<Method<S, Name>>
) => Promise<ReturnType<Method<S, Name>>>

export type Call = { number: number; subject: keyof Subjects; name: PropertyKey; args: unknown[] }
export type Result = { number: number; value?: unknown; error?: Error }

const SQLITE_IOERR = 10 // a full disk, when it stops the growth of the shared-memory file
const SQLITE_FULL = 13

export class CallRunner {
  /** Reason why the file must take no more entries. */
  fault: Error | undefined
  readonly #store: SqliteStore
  readonly #subjects: Subjects
  readonly #reserve: Reserve
  readonly #walBytes: number

  constructor(store: SqliteStore, reserve: Reserve, walBytes: number) {
    this.#store = store
    const { admin, entries, summaries, state } = store
    this.#subjects = { pending: store, admin, entries, summaries, state }
    this.#reserve = reserve
    this.#walBytes = walBytes
    store.entries.hasRoom = () => !this.fault && reserve.isFilled()
  }

  /** Returns when all calls are on disk. Waits for other replicas once, and for calls that only read not at all. */
  run(calls: readonly Call[]): Result[] {
    this.#store.lockWait.begin()
    const { reads = [], writes = [] } = Object.groupBy(calls, (call) =>
      effectOf(call) === 'reads' ? 'reads' : 'writes',
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
    if (!this.#shortenLog()) return calls.map((call) => failure(call, logFull()))
    const rejection = calls.some(isGrowing) ? this.#rejection(calls) : undefined
    if (!rejection) return this.#commitTogether(calls)
    const { growing = [], others = [] } = Object.groupBy(calls, (call) =>
      isGrowing(call) ? 'growing' : 'others',
    )
    const rejected = growing.map((call) => failure(call, rejection))
    return others.length === 0 ? rejected : [...rejected, ...this.#commitTogether(others)]
  }

  /** When one of the calls fails, each gets its own transaction. */
  #commitTogether(calls: readonly Call[]): Result[] {
    try {
      const values = this.#commit(calls)
      return calls.map(({ number }, index) => ({ number, value: values[index] }))
    } catch (error) {
      if (error instanceof LockHeld) return calls.map((call) => failure(call, error))
      if (calls.length > 1) return calls.flatMap((call) => this.#runTogether([call]))
      if (!isDiskFull(error)) return calls.map((call) => failure(call, error))
      return calls.map((call) => resultOf(call, () => this.#commitWithMoreRoom(call)))
    }
  }

  /** Returns `false` when the log cannot be used again. Without the reserve, the rest of the disk is for moving it into the file: a longer log would take it away. */
  #shortenLog(): boolean {
    const { log } = this.#store
    if (!this.#reserve.isFilled()) return log.checkpoint('RESTART')
    log.shorten('TRUNCATE')
    return true
  }

  /** Returns why no data is accepted, so that the disk keeps the room that delivery needs. */
  #rejection(calls: readonly Call[]): Error | undefined {
    if (this.fault) return this.fault
    const hasRoom = () => this.#reserve.fill() || this.#hasRoomInFile()
    if (!hasRoom() && !(calls.some(isDisplacing) && this.#releaseEnded() && hasRoom())) return diskFull()
    return this.#store.log.isTooLong() ? logFull() : undefined
  }

  #hasRoomInFile(): boolean {
    return this.#store.freeBytes() > this.#reserve.bytes
  }

  /** Removes ended entries from a full disk. Returns `false` when there are none, or the disk cannot even note that. */
  #releaseEnded(): boolean {
    const bytes = 2 * this.#reserve.bytes // the reserve may have to wait for the space that this makes in the file
    const [result] = this.#runTogether([{ number: 0, subject: 'entries', name: 'release', args: [bytes] }])
    return result?.value === true
  }

  /** Throws when another replica has meanwhile given up the reserve, whose space a call that accepts data would take. */
  #commit(calls: readonly Call[]): unknown[] {
    return this.#store.commit(() => {
      if (calls.some(isGrowing) && !this.#reserve.isFilled() && !this.#hasRoomInFile()) throw diskFull()
      return calls.map((call) => this.#perform(call))
    })
  }

  /** Moving the log into the file makes room in it. Without more, entries get the room of ended ones, and calls that do not grow the file the reserve. */
  #commitWithMoreRoom(call: Call): unknown {
    try {
      this.#store.log.checkpoint(this.#checkpointMode())
      return this.#commit([call])[0]
    } catch (error) {
      if (!isDiskFull(error)) throw error
      if (isGrowing(call) && !(isDisplacing(call) && this.#releaseEnded())) throw error
    }
    const rejection = isGrowing(call) ? this.#rejection([call]) : this.#useReserve()
    if (rejection) throw rejection
    return this.#commit([call])[0]
  }

  /** Releases the reserve: from now on, entries that end leave nothing. Returns an error if the log cannot be used. */
  #useReserve(): Error | undefined {
    this.#store.commit(() => this.#reserve.release())
    return this.#shortenLog() ? undefined : logFull()
  }

  /** While there is no reserve, the log keeps its space. */
  #checkpointMode(): CheckpointMode {
    return this.#reserve.isFilled() ? 'TRUNCATE' : 'RESTART'
  }

  #perform({ subject, name, args }: Call): unknown {
    const owner = this.#subjects[subject]
    return Reflect.get(owner, name).apply(owner, args)
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

function diskFull(): Error {
  return new Error('the disk is full: the rest of it is for delivering pending envelopes')
}

function logFull(): Error {
  return new Error('the write-ahead log is full: the disk is full or slow, or another process reads the file')
}

function effectOf({ subject, name }: Call): Effect {
  return Reflect.get(OPERATIONS[subject], name)
}

function isGrowing(call: Call): boolean {
  return effectOf(call) === 'grows' || isDisplacing(call)
}

function isDisplacing(call: Call): boolean {
  return effectOf(call) === 'displaces'
}

export function isDiskFull(error: unknown): boolean {
  return hasErrorCode(error, [SQLITE_FULL, SQLITE_IOERR])
}

/** Returns about the bytes that a call writes. An entry that stays after its delivery is copied. */
function bytesOf({ name, args }: Call): number {
  const [, , end] = name === 'finish' ? (args as Parameters<SqliteStore['finish']>) : []
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
