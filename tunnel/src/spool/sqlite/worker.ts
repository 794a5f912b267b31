/** The thread in which the spool's SQLite file lives: it gathers what is asked at one time into one transaction. */

import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type {
  EntryFilter,
  EntryRef,
  Lease,
  ListedEntry,
  PageQuery,
  ProjectDemand,
  PutResult,
  SpoolBounds,
  SpoolEntry,
  SpoolTotals,
} from '../spool.ts'
import { openOrSetAside } from './corruption.ts'
import type { Victim } from './rows.ts'
import { openSqliteStore, type SqliteStore } from './store.ts'

export type WorkerData = { file: string; folder: string; bounds: SpoolBounds; newId: string }

/** What can be asked, and what is answered. */
export type Calls = {
  put: [args: [envelope: SpoolEntry, body: Uint8Array | undefined, leaseMs: number], result: PutResult]
  take: [args: [limit: number, leaseMs: number, wanted: readonly ProjectDemand[]], result: Lease[]]
  read: [args: [id: number], result: Uint8Array | undefined]
  extend: [args: [id: number, until: number, longer: number], result: undefined]
  postpone: [args: [id: number, until: number, at: number], result: undefined]
  finish: [args: [id: number, until: number], result: boolean]
  expire: [args: [before: number], result: Victim[]]
  totals: [args: [], result: SpoolTotals]
  list: [args: [query: PageQuery], result: ListedEntry[]]
  find: [args: [ref: EntryRef], result: ListedEntry | undefined]
  retry: [args: [which: EntryFilter], result: number]
  purge: [args: [which: EntryFilter], result: Victim[]]
  pause: [args: [project: string], result: undefined]
  resume: [args: [project: string], result: undefined]
}

/** Several calls at a time, or the word that there will be no more. */
export type Message = Call[] | 'close'
export type Call = { number: number; name: keyof Calls; args: unknown[] }
/** Told once, before anything is asked. */
export type Opened = { opened: string; notice: string | undefined }
export type Answer = { number: number; result?: unknown; error?: Error }

const port = parentPort
if (!port) throw new Error('this file runs as a worker')

const { file, folder, bounds, newId }: WorkerData = workerData
const { store, ownership, notice } = openOrSetAside(
  file,
  () => openSqliteStore(file, bounds, Date.now, newId),
  Date.now,
)
const GATHERED = 256 // calls in one transaction, before the last message

ownership.alone(() => sweep(folder))

port.on('message', (first: Message) => {
  const calls: Call[] = []
  for (let message: Message | undefined = first; message; message = nextMessage(calls.length)) {
    if (message === 'close') {
      run(calls)
      close()
      return
    }
    calls.push(...message)
  }
  run(calls)
})
port.postMessage({ opened: store.id, notice } satisfies Opened)

/** Removes bodies that no row names: a crash, or a full disk, came between the two. */
function sweep(from: string): void {
  for (const name of readdirSync(from)) if (!store.names(name)) rmSync(join(from, name))
}

function nextMessage(gathered: number): Message | undefined {
  return gathered < GATHERED && port ? receiveMessageOnPort(port)?.message : undefined
}

/** All of them stand on disk when the first is answered; when one breaks the transaction, each gets one of its own. */
function run(calls: Call[]): void {
  if (calls.length === 0) return
  let answers: Answer[]
  try {
    answers = store.commit(() => calls.map((call) => ({ number: call.number, result: perform(store, call) })))
  } catch (error) {
    answers =
      calls.length > 1 ? calls.map(runAlone) : calls.map(({ number }) => ({ number, error: asError(error) }))
  }
  port?.postMessage(
    answers,
    answers.flatMap(({ result }) => (result instanceof Uint8Array ? (result.buffer as ArrayBuffer) : [])),
  )
  calls.forEach(freeBytes)
}

/** At once: the garbage collector, which this thread gives little else to do, would let tens of megabytes of them lie. */
function freeBytes({ args }: Call): void {
  for (const arg of args) if (arg instanceof Uint8Array) (arg.buffer as ArrayBuffer).transfer(0)
}

function runAlone(call: Call): Answer {
  try {
    return { number: call.number, result: store.commit(() => perform(store, call)) }
  } catch (error) {
    return { number: call.number, error: asError(error) }
  }
}

function perform(to: SqliteStore, { name, args }: Call): unknown {
  const method = to[name] as (...given: unknown[]) => unknown
  return method(...args)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function close(): void {
  store.close()
  ownership.close()
  port?.close()
}
