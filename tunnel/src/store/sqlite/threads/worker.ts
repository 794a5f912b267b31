/** Worker thread that owns the spool's SQLite file. It commits calls that arrive together in one transaction. */

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { Call } from '../calls.ts'
import { SpoolFile, type SpoolFileOptions } from '../spool-file.ts'

/** Several calls, or the last message. */
export type Request = Call[] | 'close'
/** First message of the worker. */
export type Opened = Pick<SpoolFile, 'id' | 'notice'>

const MAX_CALLS = 256 // in one transaction, before the last message
const IDLE_MS = 250

const port = parentPort
if (!port) throw new Error('this file runs as a worker')

const options: SpoolFileOptions = workerData
const spoolFile = new SpoolFile(options)
const idle = setTimeout(() => {
  if (!spoolFile.idle()) idle.refresh()
}, IDLE_MS).unref()

port.on('message', (first: Request) => {
  const calls: Call[] = []
  for (let request: Request | undefined = first; request; request = nextRequest(calls.length)) {
    if (request === 'close') {
      run(calls)
      clearTimeout(idle)
      spoolFile.close()
      port.close()
      return
    }
    calls.push(...request)
  }
  run(calls)
})
port.postMessage({ id: spoolFile.id, notice: spoolFile.notice } satisfies Opened)

function nextRequest(gathered: number): Request | undefined {
  return gathered < MAX_CALLS && port ? receiveMessageOnPort(port)?.message : undefined
}

/** Responds when all calls are on disk. */
function run(calls: Call[]): void {
  if (calls.length === 0) return
  const results = spoolFile.run(calls)
  idle.refresh()
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
