/** SQLite file of the spool: processes that start together, are killed, or are of another version. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { identify } from '../../../tunnel/src/envelope/dedupe-key.ts'
import { diskBytesOf } from '../../../tunnel/src/store/sqlite/entry-row.ts'
import { SCHEMA_VERSION } from '../../../tunnel/src/store/sqlite/schema.ts'
import { openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { NODE } from '../../support/node.ts'
import { startProgram } from '../../support/program.ts'
import { requires } from '../../support/requirements.ts'
import { PLENTY } from '../../support/spool/entries.ts'
import { bytesOf, store, takeAll } from '../../support/spool/operations.ts'
import { makeFolder, makeMemoryFolder } from '../../support/temporary-folder.ts'

const ROUNDS = 10
const KILLS = 5

describe('Four processes that open the same file', () => {
  it(`at the same time succeed when it does not exist yet, ${ROUNDS} times`, async () => {
    await using folder = await makeMemoryFolder()
    await using processes = new AsyncDisposableStack()
    const four = await Promise.all(Array.from({ length: 4 }, () => startOpening(processes)))
    for (let round = 0; round < ROUNDS; round++) {
      const file = join(folder.path, String(round), 'spool.db')
      const answers = await Promise.all(four.map((each) => each(file)))
      expect(answers).toEqual(['stored', 'stored', 'stored', 'stored'])
      expect(keysIn(file).size).toBe(4)
    }
  })
})

describe('A process that is killed during puts', () => {
  it(`leaves an intact file with all acknowledged entries, ${KILLS} times`, async () => {
    await using folder = await makeMemoryFolder()
    const file = join(folder.path, 'spool.db')
    const said = new Set<string>()
    for (let kill = 0; kill < KILLS; kill++) {
      const putting = startProgram(
        'The putter',
        NODE,
        ['tests/support/spool/writer-process.ts', file, '1000000', '8'],
        {},
      )
      const lines = kill === 0 ? 0 : Math.floor(Math.random() * 400)
      await putting.line(() => putting.stdout.length > lines, 30_000)
      await sleep(Math.random() * 20)
      await putting.kill()
      for (const line of putting.stdout) if (line.startsWith('stored ')) said.add(line.slice(7))
      expect(integrityOf(file)).toEqual(['ok'])
      const kept = keysIn(file)
      expect([...said].filter((key) => !kept.has(key))).toEqual([])
    }
    expect(said.size).toBeGreaterThan(KILLS)
    await expectWhole(file)
  })
})

describe('Before a put resolves, a sync', requires('strace'), () => {
  const trace = async (script: string, ...args: string[]) => {
    await using folder = await makeFolder()
    const [file, log] = [join(folder.path, 'spool.db'), join(folder.path, 'trace')]
    await (await openSqliteSpool(file, PLENTY)).close()
    const calls = 'trace=write,writev,pwrite64,pwritev,fsync,fdatasync,rename,renameat,renameat2'
    const traced = [
      '-f',
      '-y',
      '-s',
      '64',
      '-e',
      calls,
      '-o',
      log,
      NODE,
      `tests/support/spool/${script}`,
      file,
      ...args,
    ]
    const { code } = await startProgram('strace', 'strace', traced, {}).exited
    expect(code).toBe(0)
    return readTrace(readFileSync(log, 'utf8'), folder.path)
  }

  it('is completed for rows, for files of bodies and for their folder', async () => {
    expect(await trace('writer-process.ts', '60', '1')).toEqual({ said: 60, unsynced: 0 })
  })

  it('is missed by this test when SQLite does not sync', async () => {
    expect(await trace('writer-process-unsynced.ts', '10')).toEqual({ said: 10, unsynced: 10 })
  })
})

describe('A file with another schema version', () => {
  it('is opened and left unchanged when it is newer, so that a release can be rolled back', async () => {
    await using folder = await makeMemoryFolder()
    const file = join(folder.path, 'spool.db')
    const before = await openSqliteSpool(file, PLENTY)
    const put = [await store(before)]
    await before.close()
    changeSchema(file)
    const spool = await openSqliteSpool(file, PLENTY)
    put.push(await store(spool))
    expect((await spool.list({ order: 'oldest', limit: 3 })).map(({ key }) => key)).toEqual(
      put.map(({ key }) => key),
    )
    await spool.close()
    expect(versionOf(file)).toBe(SCHEMA_VERSION + 1)
  })

  it('is still usable for an older process that had it open during the upgrade', async () => {
    await using folder = await makeMemoryFolder()
    const file = join(folder.path, 'spool.db')
    const spool = await openSqliteSpool(file, PLENTY)
    const before = await store(spool)
    changeSchema(file)
    const after = await store(spool)
    const leases = await takeAll(spool, 2)
    expect(leases.map(({ key }) => key)).toEqual([before.key, after.key])
    for (const lease of leases) await spool.finish(lease)
    expect(await spool.totals()).toMatchObject({ envelopes: 0, bytes: 0 })
    await spool.close()
  })
})

/** Starts `tests/support/spool/opener-process.ts`, and returns a function that makes it open a file. */
async function startOpening(processes: AsyncDisposableStack): Promise<(file: string) => Promise<string>> {
  const child = fork(new URL('../../support/spool/opener-process.ts', import.meta.url), {
    execPath: NODE,
    execArgv: [],
    stdio: 'inherit',
  })
  processes.defer(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  await once(child, 'message')
  return async (file) => {
    child.send(file)
    const [answer] = await once(child, 'message')
    return answer
  }
}

/** Migrates a file as an additive schema change would. */
function changeSchema(file: string): void {
  using db = new DatabaseSync(file, { timeout: 10_000 })
  db.exec(`ALTER TABLE envelopes ADD COLUMN more TEXT; CREATE TABLE more (id INTEGER) STRICT;
    CREATE INDEX more_network ON envelopes (network); PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
}

function versionOf(file: string): unknown {
  using db = new DatabaseSync(file, { timeout: 10_000 })
  return db.prepare('PRAGMA user_version').get()?.user_version
}

function keysIn(file: string): Set<string> {
  using db = new DatabaseSync(file, { timeout: 10_000 })
  return new Set(
    db
      .prepare('SELECT key FROM envelopes')
      .all()
      .map(({ key }) => String(key)),
  )
}

function integrityOf(file: string): unknown[] {
  using db = new DatabaseSync(file, { timeout: 10_000 })
  return db
    .prepare('PRAGMA integrity_check')
    .all()
    .map((row) => row.integrity_check)
}

/** Expects that every body has the key that it was stored with, and that the totals equal the entries. */
async function expectWhole(file: string): Promise<void> {
  const spool = await openSqliteSpool(file, PLENTY)
  const { envelopes, bytes } = await spool.totals()
  const leases = await takeAll(spool, envelopes)
  expect(leases.reduce((sum, lease) => sum + diskBytesOf(lease), 0)).toBe(bytes)
  for (const lease of leases)
    expect(await identify(lease.project, await bytesOf(await spool.read(lease)))).toBe(lease.key)
  await spool.close()
}

/** Returns for a trace made with `-f -y` the number of `stored …` lines, and of those written before a sync of the preceding writes had completed. */
function readTrace(trace: string, folder: string): { said: number; unsynced: number } {
  const unsynced = new Set<string>()
  const waiting = new Map<string, string[]>() // files of a pending sync, by thread
  const counts = { said: 0, unsynced: 0 }
  for (const line of trace.split('\n')) {
    const [, thread = '', call = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    const path = /^\w+\(\d+<([^>]+)>/.exec(call)?.[1] ?? ''
    if (/^(pwrite64|pwritev|write|writev)\(/.test(call) && isKept(path, folder)) unsynced.add(path)
    if (/^rename\w*\(/.test(call) && call.includes(folder)) follow(call, unsynced)
    if (/^f(data)?sync\(/.test(call)) waiting.set(thread, [path])
    if (/f(data)?sync.*\)\s+= 0$/.test(call))
      for (const synced of waiting.get(thread) ?? []) unsynced.delete(synced)
    if (/^write\(1<[^>]*>, "stored /.test(call)) {
      counts.said++
      if (unsynced.size > 0) counts.unsynced++
    }
  }
  return counts
}

/** Excludes the database itself: checkpoints write it, and no put waits for them. */
function isKept(path: string, folder: string): boolean {
  return path.startsWith(folder) && (path.endsWith('-wal') || path.includes('/bodies/'))
}

/** Adds the folder of a renamed file, which needs a sync of its own. */
function follow(call: string, unsynced: Set<string>): void {
  const [from = '', to = ''] = [...call.matchAll(/"([^"]+)"/g)].map(([, path = '']) => path)
  if (unsynced.delete(from)) unsynced.add(to)
  unsynced.add(to.slice(0, to.lastIndexOf('/')))
}
