/** Store of envelopes in IndexedDB, which all tabs of an origin share. */

import { clearDatabase } from './local.ts'

const MAX_ENTRIES = 30
/** Bound of entries other than errors and feedback, such as replays and logs. */
const MAX_OTHERS = 10
const MAX_ENTRY_BYTES = 1_000_000
const MAX_BYTES = 5_000_000
const MAX_OTHER_BYTES = 2_500_000
const MAX_AGE_MS = 30 * 24 * 3_600_000
/** Failed posts after which an entry is dropped: one that never arrives must not stay. */
const MAX_ATTEMPTS = 30
/** Time for a post, in which no other tab and no next page sends the entry again. */
const CLAIM_MS = 15_000
const FIRST_DELAY_MS = 5_000
export const MAX_DELAY_MS = 3_600_000
/** Time for which reports of a page wait in total for a database that does not answer, and each for a transaction before the first late one. */
const PATIENCE_MS = 300
const TRANSACTION_MS = 5_000
const QUEUE = 'queue'

/** Bounds are checked with the keys alone, without reading envelopes. The last part makes a key unique. */
export type Key = [time: number, bytes: number, isReport: number, unique: number]

type Value = {
  body: Uint8Array
  /** Failed posts, without those that had no connection. */
  attempts: number
  /** Earliest time of the next post. */
  notBefore: number
}

/** Entry that is due, or the time at which the next one is. */
export type Taken = { key: Key; body: Uint8Array } | { nextAt: number }

/** Errors of a database without the queue, with a queue of another form, or with an entry that cannot be read. */
const RESET = ['NotFoundError', 'DataError', 'DataCloneError']

type RunOptions = {
  /** End of a transaction that takes too long. */
  end?: 'abort' | 'commit'
  timeoutMs?: number
  opening?: Promise<IDBDatabase | undefined>
}

export class EnvelopeStore {
  readonly #name: string
  /** Ends the time in which envelopes wait for the database. */
  readonly #patience = new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE_MS))
  /** Open transactions. */
  readonly #transactions = new Set<IDBTransaction>()
  #opening: Promise<IDBDatabase> | undefined
  #hasWarned = false
  #hasReset = false
  #isLeaving = false
  /** A transaction was late, and none has been completed since. */
  #isStuck = false

  constructor(name: string) {
    this.#name = name
    this.#open().catch(() => {}) // `#run` has the error
  }

  /**
   * Aborts all transactions, and begins none until `stay`. WebKit keeps the lock of one that is open when the page is left as long as the tab,
   * and also that of one on which `commit` was called: it sends the commit to the database after events that this page no longer gets.
   */
  leave(): void {
    this.#isLeaving = true
    for (const transaction of this.#transactions)
      try {
        transaction.abort()
      } catch {} // the browser is committing it, or has done so
  }

  /** The page has come back. */
  stay(): void {
    this.#isLeaving = false
  }

  /** Stores an envelope as `add` does, but resolves to `undefined` soon if the database does not answer. */
  async addSoon(body: string | Uint8Array, isReport: boolean): Promise<Key | undefined> {
    if (this.#isStuck) return undefined
    return this.#add(body, isReport, PATIENCE_MS, Promise.race([this.#open(), this.#patience]))
  }

  /** Stores an envelope, and claims it for a post of this tab. Resolves to `undefined` without room. */
  add(body: string | Uint8Array, isReport: boolean): Promise<Key | undefined> {
    const soon = new Promise<undefined>((resolve) => setTimeout(resolve, TRANSACTION_MS))
    return this.#add(body, isReport, TRANSACTION_MS, Promise.race([this.#open(), soon]))
  }

  #add(
    body: string | Uint8Array,
    isReport: boolean,
    timeoutMs: number,
    opening: Promise<IDBDatabase | undefined>,
  ): Promise<Key | undefined> {
    return this.#run(
      async (queue) => {
        const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
        const now = Date.now()
        queue.delete(expired(now))
        const found = await result(queue.getAllKeys())
        const keys = found.filter(isKey)
        const others = keys.filter(([, , ofReport]) => !ofReport)
        const sizeWith = (all: Key[]) => all.reduce((sum, [, size]) => sum + size, bytes.length)
        if (bytes.length > MAX_ENTRY_BYTES || sizeWith(keys) > MAX_BYTES || keys.length >= MAX_ENTRIES)
          return undefined
        if (!isReport && (others.length >= MAX_OTHERS || sizeWith(others) > MAX_OTHER_BYTES)) return undefined
        const key: Key = [now, bytes.length, Number(isReport), Math.random()]
        const notBefore = navigator.onLine ? now + CLAIM_MS : 0 // a post of an offline browser fails at once
        await result(queue.add({ body: bytes, attempts: 0, notBefore } satisfies Value, key))
        return key
      },
      { end: 'abort', timeoutMs, opening }, // the caller would not have the key with which it removes the entry
    )
  }

  remove(key: Key): Promise<unknown> {
    return this.#run((queue) => result(queue.delete(key)))
  }

  /** Claims the entry that has been due for the longest time: one that failed comes after the others. Skips those that this tab is sending. */
  take(isSending: (key: Key) => boolean): Promise<Taken | undefined> {
    return this.#run(async (queue) => {
      const now = Date.now()
      queue.delete(expired(now))
      const [keys, values] = await Promise.all([
        result(queue.getAllKeys()),
        result<unknown[]>(queue.getAll()),
      ])
      const all = values.flatMap((value, index) => {
        const key = keys[index]
        if (isKey(key) && isValue(value)) return [{ key, value }]
        queue.delete(key as IDBValidKey) // of another script, or of another release
        return []
      })
      // A time too far away was set by a clock that was wrong.
      const dueAt = ({ notBefore }: Value) => (notBefore > now + MAX_DELAY_MS ? 0 : notBefore)
      const [first] = all
        .filter(({ key }) => !isSending(key))
        .sort((one, other) => dueAt(one.value) - dueAt(other.value))
      if (!first) return { nextAt: Infinity }
      const { key, value } = first
      if (dueAt(value) > now) return { nextAt: dueAt(value) }
      await result(queue.put({ ...value, notBefore: now + CLAIM_MS }, key))
      return { key, body: value.body }
    })
  }

  /**
   * Ends the claim on an entry that was not accepted, and delays its next post if this one counts as an attempt. Resolves to `false` if the
   * entry was dropped after its last attempt.
   */
  async postpone(key: Key, isAttempt: boolean): Promise<boolean> {
    const isKept = await this.#run(async (queue) => {
      const value = await result<Value | undefined>(queue.get(key))
      if (!value) return true // another tab has sent it
      const attempts = value.attempts + Number(isAttempt)
      if (attempts >= MAX_ATTEMPTS) {
        await result(queue.delete(key))
        return false
      }
      const maxDelayMs = isAttempt ? backoffMs(attempts) : 0
      const notBefore = Date.now() + (maxDelayMs * (1 + Math.random())) / 2
      await result(queue.put({ ...value, attempts, notBefore } satisfies Value, key))
      return true
    })
    return isKept ?? true // it stays if the transaction fails
  }

  /** Says once that envelopes cannot be stored. */
  warn(reason: unknown): void {
    if (!this.#hasWarned)
      console.warn(`Culvert: reports that cannot be sent now are lost, since none can be stored (${reason})`)
    this.#hasWarned = true
  }

  /**
   * Runs a transaction, and resolves after its commit, or to `undefined` if it failed, takes too long, the database is not open, or the page
   * is left.
   */
  async #run<T>(
    act: (queue: IDBObjectStore) => Promise<T>,
    options: RunOptions = {},
  ): Promise<T | undefined> {
    const { end = 'commit', timeoutMs = TRANSACTION_MS, opening = this.#open() } = options
    let transaction: IDBTransaction | undefined
    try {
      const database = await opening
      if (!database || this.#isLeaving) return undefined
      const begun = database.transaction(QUEUE, 'readwrite')
      transaction = begun
      this.#transactions.add(begun)
      const committed = new Promise<void>((resolve, reject) => {
        begun.oncomplete = () => resolve()
        begun.onabort = () => reject(begun.error)
        setTimeout(() => {
          if (this.#transactions.has(begun)) this.#isStuck = true
          try {
            if (end === 'abort') begun.abort()
            reject('timeout')
          } catch {
            resolve() // the browser is committing it, or has done so
          }
        }, timeoutMs)
      })
      const [value] = await Promise.all([act(begun.objectStore(QUEUE)), committed])
      this.#isStuck = false
      return value
    } catch (error) {
      const { name } = Object(error) as { name?: string }
      if (this.#isLeaving) return undefined
      if (name === 'InvalidStateError') this.#opening = undefined // Safari may close it without an event
      if (RESET.includes(String(name)) && !this.#hasReset) {
        await this.#reset()
        return this.#run(act, { end, timeoutMs })
      }
      if (timeoutMs === TRANSACTION_MS) this.warn(error) // otherwise another attempt follows if the post fails
      return undefined
    } finally {
      if (transaction) this.#transactions.delete(transaction)
    }
  }

  /** Deletes a database that is not of this form, which another script has created under this name. */
  async #reset(): Promise<void> {
    this.#hasReset = true
    const database = await this.#opening
    database?.close()
    this.#opening = undefined
    await clearDatabase(this.#name)
  }

  /** Opens the database. `indexedDB` is absent or throws where storage is blocked. */
  #open(): Promise<IDBDatabase> {
    this.#opening ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(this.#name)
      let upgrade: IDBTransaction | null = null
      request.onupgradeneeded = () => {
        request.result.createObjectStore(QUEUE)
        upgrade = request.transaction
        if (upgrade) this.#transactions.add(upgrade)
        if (this.#isLeaving) upgrade?.abort()
      }
      request.onerror = () => {
        if (upgrade) this.#transactions.delete(upgrade)
        this.#opening = undefined
        reject(request.error)
      }
      request.onsuccess = () => {
        const database = request.result
        if (upgrade) this.#transactions.delete(upgrade)
        // The browser has closed it, or the page deletes it: the next transaction opens it again.
        database.onclose = database.onversionchange = () => {
          database.close()
          this.#opening = undefined
        }
        resolve(database)
      }
    })
    return this.#opening
  }
}

function isKey(key: unknown): key is Key {
  return Array.isArray(key) && key.length === 4 && key.every((part) => typeof part === 'number')
}

function isValue(value: unknown): value is Value {
  const { body, attempts, notBefore } = Object(value) as Partial<Value>
  return ArrayBuffer.isView(body) && typeof attempts === 'number' && typeof notBefore === 'number'
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

/** Returns the backoff in milliseconds after this number of failures in a row. */
export function backoffMs(failures: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), MAX_DELAY_MS)
}

/** Returns the range of entries that are too old. */
function expired(now: number): IDBKeyRange {
  return IDBKeyRange.upperBound([now - MAX_AGE_MS])
}
