/** The spool of one machine: a SQLite file that its replicas share, and large bodies as files beside it. */

import { randomUUID } from 'node:crypto'
import { closeSync, createReadStream, mkdirSync, openSync } from 'node:fs'
import { link, open, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type {
  EntryFilter,
  EntryRef,
  Lease,
  PutResult,
  Spool,
  SpoolBody,
  SpoolBounds,
  SpoolEntry,
  StoredBody,
} from '../spool.ts'
import { startCheckpoints } from './checkpoints.ts'
import type { Answer, Call, Calls, Opened } from './worker.ts'

/** Past this a body is a file: the database would be slower with it than without. */
const FILE_BYTES = 1024 * 1024 // 1 MiB

const ACT_AT_MOST = 10_000 // purged, or hastened, in one call

const AT_A_TIME = 256 // calls in one message, and as many in one transaction or twice as many

/**
 * Opens the file, or makes it. Rejects in words when it was written by a newer version, or is damaged and not ours alone; `onNotice` is
 * told what an operator should know, such as that a damaged one was set aside.
 */
export async function openSqliteSpool(
  file: string,
  bounds: SpoolBounds,
  onNotice: (notice: string) => void = () => {},
): Promise<Spool> {
  const folder = join(dirname(file), 'bodies')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of [file, `${file}-owners`]) closeSync(openSync(name, 'a', 0o600)) // SQLite gives its other files the same mode
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: { file, folder, bounds, newId: randomUUID() },
  })
  const { call, opened: id, notice, end } = await connect(worker)
  if (notice) onNotice(notice)
  const checkpoints = startCheckpoints(file, onNotice)

  return {
    id,
    maxBytes: bounds.bytes,
    put,
    take: (limit, leaseMs, wanted) => call('take', limit, leaseMs, wanted),
    read,
    extend,
    finish,
    postpone: ({ id, until }, at) => call('postpone', id, until, at),
    expire,
    totals: () => call('totals'),
    list: (query) => call('list', query),
    find: (ref) => call('find', ref),
    retry,
    purge,
    pause: (project = '') => call('pause', project),
    resume: (project = '') => call('resume', project),
    close,
  }

  async function put(envelope: SpoolEntry, body: SpoolBody, leaseMs: number): Promise<PutResult> {
    const result =
      envelope.bytes > FILE_BYTES
        ? await putFile(envelope, body, leaseMs)
        : await putRow(envelope, body, leaseMs)
    if (result.kind === 'stored') await Promise.all(result.evicted.map(remove))
    return result
  }

  async function putRow(envelope: SpoolEntry, body: SpoolBody, leaseMs: number): Promise<PutResult> {
    return call('put', envelope, await copy(body, envelope.bytes), leaseMs)
  }

  /** The file first, under a name of its own: a row never stands without its file, nor loses it to another of the same bytes. */
  async function putFile(envelope: SpoolEntry, body: SpoolBody, leaseMs: number): Promise<PutResult> {
    const named = { ...envelope, file: `${envelope.key}.${randomUUID()}` }
    try {
      await writeSynced(folder, named.file, body)
      const result = await call('put', named, undefined, leaseMs)
      if (result.kind !== 'stored') await remove(named)
      return result
    } catch (error) {
      await remove(named)
      throw error
    }
  }

  async function read({ id, file }: SpoolEntry & EntryRef): Promise<StoredBody> {
    if (file !== undefined) return { open: () => createReadStream(join(folder, file)) }
    const row = await call('read', id)
    if (!row) throw new Error('it is gone: another replica has settled it')
    return Buffer.from(row.buffer, row.byteOffset, row.byteLength)
  }

  async function extend(lease: Lease, leaseMs: number): Promise<Lease> {
    const until = Date.now() + leaseMs
    await call('extend', lease.id, lease.until, until)
    return { ...lease, until }
  }

  /** The row first: a file without a row is litter, a row without its file is a loss. */
  async function finish(lease: Lease): Promise<boolean> {
    const mine = await call('finish', lease.id, lease.until)
    if (mine) await remove(lease)
    return mine
  }

  function expire(before: number): Promise<SpoolEntry[]> {
    return removeAll(() => call('expire', before), Infinity)
  }

  function purge(which: EntryFilter): Promise<SpoolEntry[]> {
    return removeAll(() => call('purge', which), ACT_AT_MOST)
  }

  /**
   * Some in each transaction, so that others get their turn, until there are no more, or so many. Those that are gone are told even when
   * the disk takes no more by then: nobody could tell of them later.
   */
  async function removeAll(forget: () => Promise<SpoolEntry[]>, most: number): Promise<SpoolEntry[]> {
    const gone: SpoolEntry[] = []
    while (gone.length < most) {
      const some = await forget().catch((error) => {
        if (gone.length === 0) throw error
        return []
      })
      if (some.length === 0) break
      await Promise.all(some.map(remove))
      gone.push(...some)
    }
    return gone
  }

  async function retry(which: EntryFilter): Promise<number> {
    let retried = 0
    while (retried < ACT_AT_MOST) {
      const some = await call('retry', which)
      if (some === 0) break
      retried += some
    }
    return retried
  }

  async function remove({ file }: SpoolEntry): Promise<void> {
    if (file !== undefined) await unlink(join(folder, file)).catch(() => undefined)
  }

  async function close(): Promise<void> {
    await checkpoints.stop()
    await end()
  }
}

type Ask = <Name extends keyof Calls>(name: Name, ...args: Calls[Name][0]) => Promise<Calls[Name][1]>

/**
 * Calls into the worker, those of one turn of the event loop together, and pairs its answers; when it ends, all that wait are rejected, and
 * whatever is asked after that. Bytes are handed over, and nobody's here any more: as copies they would be held three times.
 */
async function connect(worker: Worker): Promise<Opened & { call: Ask; end: () => Promise<void> }> {
  const entry = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  let calls = 0
  const outbox: Call[] = []
  let ended: Error | undefined
  const opened = Promise.withResolvers<Opened>()
  const closed = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  worker.on('error', fail)
  worker.on('exit', () => fail(new Error('the spool is closed')))
  worker.on('message', (message: Answer[] | Opened) => {
    if ('opened' in message) opened.resolve(message)
    else for (const answer of message) settle(answer)
  })
  return { call, ...(await opened.promise), end }

  function call<Name extends keyof Calls>(name: Name, ...args: Calls[Name][0]): Promise<Calls[Name][1]> {
    return new Promise((resolve, reject) => {
      if (ended) return reject(ended)
      const number = ++calls
      entry.set(number, { resolve, reject })
      if (outbox.length === 0) setImmediate(send)
      outbox.push({ number, name, args })
    })
  }

  function send(): void {
    while (outbox.length > 0) {
      const some = outbox.splice(0, AT_A_TIME)
      worker.postMessage(some, some.flatMap(bytesAmong))
    }
  }

  async function end(): Promise<void> {
    send()
    worker.postMessage('close')
    await closed
  }

  function settle({ number, result, error }: Answer): void {
    const promise = entry.get(number)
    entry.delete(number)
    if (error) promise?.reject(error)
    else promise?.resolve(result as never)
  }

  function fail(error: Error): void {
    ended ??= error
    opened.reject(error)
    for (const { reject } of entry.values()) reject(error)
    entry.clear()
  }
}

function bytesAmong({ args }: Call): ArrayBuffer[] {
  return args.flatMap((arg) => (arg instanceof Uint8Array ? (arg.buffer as ArrayBuffer) : []))
}

/** Bytes of our own, to be handed over. Rejects when there are others than were told. */
async function copy(body: SpoolBody, bytes: number): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for await (const chunk of body.chunks()) {
    chunk.copy(whole, at)
    at += chunk.length
  }
  if (at !== bytes) throw new Error(`a body of ${bytes} bytes turned out to have ${at}`)
  return whole
}

/** On disk, synced, and so is its name in the folder. */
async function writeSynced(folder: string, name: string, body: SpoolBody): Promise<void> {
  const path = join(folder, name)
  if (!(await linked(body.file, path))) await writeFile(path, body.chunks(), { flag: 'wx', mode: 0o600 })
  await sync(path)
  await sync(folder)
}

/** A file that holds the body already only needs another name, where both are on one disk. */
async function linked(file: string | undefined, name: string): Promise<boolean> {
  if (file === undefined) return false
  return link(file, name).then(
    () => true,
    () => false,
  )
}

async function sync(path: string): Promise<void> {
  const entry = await open(path, 'r')
  try {
    await entry.sync()
  } finally {
    await entry.close()
  }
}
