/** Calls into the worker thread that owns the spool's SQLite file. */

import { Worker } from 'node:worker_threads'
import type { Call, Result, RunCall } from '../calls.ts'
import type { SpoolFileOptions } from '../spool-file.ts'
import type { Opened, Request } from './worker.ts'

type Pending = { resolve: (value: never) => void; reject: (error: Error) => void }

const MAX_CALLS = 256 // in one message

/** Runs calls on a spool's file, in a thread of its own or in the caller's. */
export type SpoolFileCaller = {
  /** Rejects when the file cannot be opened. */
  readonly opened: Promise<Opened>
  readonly call: RunCall
  close(): Promise<void>
}

/** Thread of a spool's file. */
export class SpoolWorker implements SpoolFileCaller {
  readonly opened: Promise<Opened>
  readonly #worker: Worker
  readonly #closed: Promise<void>
  readonly #pending = new Map<number, Pending>()
  readonly #outbox: Call[] = []
  #calls = 0
  #error: Error | undefined

  constructor(options: SpoolFileOptions) {
    this.#worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: options })
    const opened = Promise.withResolvers<Opened>()
    this.opened = opened.promise
    this.#closed = new Promise((resolve) => this.#worker.once('exit', () => resolve()))
    const fail = (error: Error) => {
      opened.reject(error)
      this.#fail(error)
    }
    this.#worker.on('error', fail)
    this.#worker.on('exit', () => fail(new Error('the spool is closed')))
    this.#worker.on('message', (message: Result[] | Opened) => {
      if (Array.isArray(message)) for (const result of message) this.#settle(result)
      else opened.resolve(message)
    })
  }

  /**
   * Sends the calls of one turn of the event loop together. Bytes among the arguments are transferred, since copies would be held three
   * times. Rejects when the worker fails or has ended.
   */
  readonly call: RunCall = (subject, name, ...args) =>
    new Promise((resolve, reject) => {
      if (this.#error) return reject(this.#error)
      const number = ++this.#calls
      this.#pending.set(number, { resolve, reject })
      if (this.#outbox.length === 0) setImmediate(() => this.#send())
      this.#outbox.push({ number, subject, name, args })
    })

  /** Resolves when the worker has responded to all calls and ended. */
  async close(): Promise<void> {
    this.#send()
    this.#worker.postMessage('close' satisfies Request)
    await this.#closed
  }

  #send(): void {
    while (this.#outbox.length > 0) {
      const calls = this.#outbox.splice(0, MAX_CALLS)
      this.#worker.postMessage(calls satisfies Request, calls.flatMap(buffersOf))
    }
  }

  #settle({ number, value, error }: Result): void {
    const pending = this.#pending.get(number)
    this.#pending.delete(number)
    if (error) pending?.reject(error)
    else pending?.resolve(value as never)
  }

  #fail(error: Error): void {
    this.#error ??= error
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }
}

function buffersOf({ args }: Call): ArrayBuffer[] {
  return args.flatMap((arg) => (arg instanceof Uint8Array ? (arg.buffer as ArrayBuffer) : []))
}
