/** Write-ahead log of the SQLite spool, while other connections stand in the way of its checkpoint. The clock goes on with each pause. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LockWait, pauseThread } from '../../../tunnel/src/store/sqlite/locks.ts'
import { WriteAheadLog } from '../../../tunnel/src/store/sqlite/write-ahead-log.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

const MAX_BYTES = 64 * 1024
const PAUSE_MS = 100
const ROW = `INSERT INTO rows VALUES (randomblob(${2 * MAX_BYTES}))`
const WORKER_MS = 30_000
const CHECKPOINTER = `
  const { workerData } = require('node:worker_threads')
  const { DatabaseSync } = require('node:sqlite')
  const db = new DatabaseSync(workerData.file, { timeout: 10_000 })
  // Another connection has the lock of checkpoints for a moment: SQLite does not wait for that lock.
  while (db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get().busy !== 0);
  Atomics.store(workerData.isDone, 0, 1)
  Atomics.notify(workerData.isDone, 0)`

let scope: AsyncDisposableStack
let file: string
let other: DatabaseSync
let log: WriteAheadLog
let waitedMs: number
let onPause: () => void

beforeEach(async () => {
  scope = new AsyncDisposableStack()
  file = join(scope.use(await makeFolder()).path, 'spool.db')
  waitedMs = 0
  onPause = () => undefined
  const pause = () => {
    waitedMs += PAUSE_MS
    onPause()
  }
  other = openConnection()
  other.exec('PRAGMA journal_mode = WAL; CREATE TABLE rows (bytes BLOB)')
  other.exec(ROW)
  const clock = { now: () => 1_000_000 + waitedMs, pause }
  const lockWait = new LockWait(clock)
  log = new WriteAheadLog(openConnection(), file, MAX_BYTES, lockWait)
})

afterEach(() => scope.disposeAsync())

it('is moved into the file when another replica commits within five seconds', () => {
  other.exec('BEGIN IMMEDIATE')
  afterMs(4_500, () => other.exec('COMMIT'))
  expect(log.checkpoint('TRUNCATE')).toBe(true)
  expect(log.isLong()).toBe(false)
})

it('is short when another replica has moved it into the file within five seconds', async () => {
  other.exec('BEGIN; SELECT count(*) FROM rows')
  const checkpointer = startCheckpointer()
  const observer = openConnection()
  await until(async () => isCheckpointed(observer))
  afterMs(4_500, () => {
    other.exec('COMMIT')
    checkpointer.wait()
  })
  expect(log.checkpoint('TRUNCATE')).toBe(true)
  expect(log.isLong()).toBe(false)
})

it('is short when a slow checkpoint of another replica follows a reader', () => {
  other.exec('BEGIN; SELECT count(*) FROM rows')
  const observer = openConnection()
  let checkpointer: ReturnType<typeof startCheckpointer> | undefined
  afterMs(500, () => {
    checkpointer = startCheckpointer()
    const deadline = Date.now() + WORKER_MS
    while (!isCheckpointed(observer) && Date.now() < deadline) pauseThread(1)
  })
  afterMs(4_500, () => {
    other.exec('COMMIT')
    checkpointer?.wait()
  })
  expect(log.checkpoint('TRUNCATE')).toBe(true)
  expect(log.isLong()).toBe(false)
})

it('is short when a slow commit of another replica follows a reader', () => {
  other.exec('BEGIN; SELECT count(*) FROM rows')
  const writer = openConnection()
  afterMs(500, () => writer.exec('BEGIN IMMEDIATE'))
  afterMs(4_500, () => {
    writer.exec('COMMIT')
    other.exec('COMMIT')
  })
  expect(log.checkpoint('TRUNCATE')).toBe(true)
  expect(log.isLong()).toBe(false)
})

it('is short when another replica has moved it into the file and writes again', () => {
  other.exec('BEGIN; SELECT count(*) FROM rows')
  const writer = openConnection()
  afterMs(300, () => {
    other.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
    writer.exec('BEGIN IMMEDIATE')
  })
  expect(log.checkpoint('TRUNCATE')).toBe(true)
  expect(waitedMs).toBe(300)
})

describe('Stays long', () => {
  it.each([
    ['a reader of all of it', 'BEGIN; SELECT count(*) FROM rows', ''],
    ['a reader of its first part', 'BEGIN; SELECT count(*) FROM rows', ROW],
    ['one transaction of another replica', 'BEGIN IMMEDIATE', ''],
  ])('after five seconds of %s, and the next call does not wait', (_, inTheWay, meanwhile) => {
    other.exec(inTheWay)
    openConnection().exec(meanwhile)
    expectOneWait({ betweenMs: [5_000, 5_500] })
  })
})

function openConnection(): DatabaseSync {
  const db = new DatabaseSync(file)
  scope.defer(() => db.close())
  db.exec('PRAGMA wal_autocheckpoint = 0')
  return db
}

/** Starts another connection, in a thread of its own, that moves the log into the file as soon as no reader stands in the way. */
function startCheckpointer() {
  const isDone = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(CHECKPOINTER, { eval: true, workerData: { file, isDone } })
  scope.defer(async () => void (await worker.terminate()))
  return { wait: () => expect(Atomics.wait(isDone, 0, 0, WORKER_MS)).not.toBe('timed-out') }
}

/** Returns `true` while another connection has the lock of checkpoints. */
function isCheckpointed(observer: DatabaseSync): boolean {
  return observer.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()?.log === -1
}

function afterMs(ms: number, action: () => void): void {
  const before = onPause
  onPause = () => {
    before()
    if (waitedMs === ms) action()
  }
}

function expectOneWait({ betweenMs: [min, max] }: { betweenMs: [number, number] }): void {
  expect(log.checkpoint('TRUNCATE')).toBe(false)
  expect(waitedMs).toBeGreaterThanOrEqual(min)
  expect(waitedMs).toBeLessThan(max)
  const before = waitedMs
  expect(log.checkpoint('TRUNCATE')).toBe(false)
  expect(waitedMs).toBe(before)
  expect(log.isLong()).toBe(true)
}
