/** Worker thread that owns the spool's SQLite file. It commits calls that arrive together in one transaction. */

import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { type Call, CallRunner, isDamage, isDiskFull } from '../calls.ts'
import { isMarkedDamaged, listDamaged, markDamaged, setAside } from '../damaged-files.ts'
import { OwnerLock } from '../locks.ts'
import { Reserve } from '../space.ts'
import { SqliteStore, type StoreBounds } from '../store.ts'

export type WorkerData = { file: string; folder: string; bounds: StoreBounds; newId: string }

/** Several calls, or the last message. */
export type Request = Call[] | 'close'
/** First message of the worker. `notice` is for the operator. */
export type Opened = { id: string; notice: string | undefined }

const MAX_CALLS = 256 // in one transaction, before the last message

const port = parentPort
if (!port) throw new Error('this file runs as a worker')

const { file, folder, bounds, newId }: WorkerData = workerData
const reserve = new Reserve(file, bounds)
const ownerLock = new OwnerLock(file)
const { store, notice } = openOrSetAside()
const runner = new CallRunner(store, reserve, bounds.walBytes)
reserve.fill()
if (listDamaged(file).length === 0) ownerLock.runAlone(removeOrphans) // they may be bodies of entries that can be recovered

port.on('message', (first: Request) => {
  const calls: Call[] = []
  for (let request: Request | undefined = first; request; request = nextRequest(calls.length)) {
    if (request === 'close') {
      run(calls)
      close()
      return
    }
    calls.push(...request)
  }
  run(calls)
})
port.postMessage({ id: store.id, notice } satisfies Opened)

/** Opens the file. Puts a new one in the place of a damaged one, unless another replica has that open. */
function openOrSetAside(): { store: SqliteStore; notice: string | undefined } {
  const replace = () => ownerLock.runAlone(() => ({ name: setAside(file), store: openStore() }))
  let replaced = isMarkedDamaged(file) ? replace() : undefined
  try {
    if (!replaced) return { store: openWithReserve(), notice: undefined }
  } catch (error) {
    if (!isDamage(error)) throw error
    replaced = replace()
  }
  if (!replaced)
    throw new Error(
      `SPOOL_URL: "${file}" is damaged, and another replica has it open; stop all of them, then start one, which sets it aside`,
    )
  return {
    store: replaced.store,
    notice: `the spool's file was damaged and is set aside as ${replaced.name}; a new one is in its place`,
  }
}

/** Releases the reserve when the disk is too full to open the file. */
function openWithReserve(): SqliteStore {
  try {
    return openStore()
  } catch (error) {
    if (!isDiskFull(error) || !reserve.isFilled()) throw error
    reserve.release()
    return openStore()
  }
}

function openStore(): SqliteStore {
  return new SqliteStore(file, bounds, newId)
}

/** Removes bodies without an entry, which a crash or a full disk has left. */
function removeOrphans(): void {
  for (const name of readdirSync(folder)) if (!store.hasFile(name)) rmSync(join(folder, name))
}

function nextRequest(gathered: number): Request | undefined {
  return gathered < MAX_CALLS && port ? receiveMessageOnPort(port)?.message : undefined
}

/** Responds when all calls are on disk. */
function run(calls: Call[]): void {
  if (calls.length === 0) return
  const results = runner.run(calls)
  if (results.some(({ error }) => isDamage(error))) markDamaged(file)
  port?.postMessage(
    results,
    results.flatMap(({ value }) => (value instanceof Uint8Array ? (value.buffer as ArrayBuffer) : [])),
  )
  calls.forEach(freeBytes)
}

/** Frees bodies at once: this thread collects garbage so seldom that tens of megabytes would pile up. */
function freeBytes({ args }: Call): void {
  for (const arg of args) if (arg instanceof Uint8Array) (arg.buffer as ArrayBuffer).transfer(0)
}

function close(): void {
  store.close()
  ownerLock.close()
  port?.close()
}
