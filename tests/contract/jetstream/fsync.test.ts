/** Checks with strace that the NATS server, as configured here, has synced each put that it acknowledges. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NATS_CONFIG, type Nats } from '../../support/nats/nats.ts'
import { requires } from '../../support/requirements.ts'
import { PLENTY } from '../../support/spool/entries.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'
import { putOne } from '../../support/spool/operations.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

const PUTS = 10

describe('An acknowledgement of NATS', requires('nats-server', 'strace'), () => {
  it('follows an fsync of the acknowledged data', async () => {
    expect(await acknowledgements(NATS_CONFIG)).toEqual({ said: PUTS, unsynced: 0 })
  })

  it('precedes the fsync with the default interval of NATS, which shows that this test detects it', async () => {
    await using folder = await makeFolder()
    const lax = (await readFile(NATS_CONFIG, 'utf8')).replace(/sync_interval: always/, '')
    await writeFile(join(folder.path, 'lax.conf'), lax)
    const { said, unsynced } = await acknowledgements(join(folder.path, 'lax.conf'))
    expect(said).toBe(PUTS)
    expect(unsynced).toBeGreaterThan(0)
  })
})

/** Counts the puts that a server acknowledges, of `PUTS` in sequence, and those that it had not synced. */
async function acknowledgements(config: string): Promise<{ said: number; unsynced: number }> {
  await using folder = await makeFolder()
  await using store = await openStore(PLENTY, { config })
  const spool = await store.spool()
  await putOne(spool)
  const trace = join(folder.path, 'trace')
  const detach = await attach(store.nats, trace)
  for (let i = 0; i < PUTS; i++) await putOne(spool)
  await detach()
  return readTrace(await readFile(trace, 'utf8'))
}

/** Traces every thread of the server from when it resolves. */
async function attach(nats: Nats, trace: string): Promise<() => Promise<void>> {
  const calls = 'trace=write,pwrite64,writev,pwritev,fsync,fdatasync,sendto,sendmsg'
  const args = ['-f', '-y', '-s', '4096', '-e', calls, '-o', trace, '-p', String(nats.pid())]
  const strace = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  strace.stderr.on('data', (chunk: Buffer) => {
    said += chunk
  })
  await until(async () => said.includes('attached'))
  return async () => {
    strace.kill('SIGINT')
    await once(strace, 'close')
  }
}

/** Returns the number of acknowledgements, and of those that were sent before a sync of the preceding writes had completed. */
function readTrace(trace: string): { said: number; unsynced: number } {
  const counts = { said: 0, unsynced: 0 }
  const unsynced = new Set<string>()
  const syncing = new Map<string, string>() // by thread
  for (const line of trace.split('\n')) {
    const [, thread = '', call = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    const path = /^\w+\(\d+<([^>]+)>/.exec(call)?.[1] ?? ''
    if (/^p?write(v|64)?\(/.test(call) && path.endsWith('.blk')) unsynced.add(path)
    if (/^f(data)?sync\(/.test(call)) syncing.set(thread, path)
    if (/f(data)?sync.*= 0$/.test(call)) unsynced.delete(syncing.get(thread) ?? '')
    const answers = call.split('\\"stream\\":\\"CULVERT_SPOOL_ERRORS\\"').length - 1
    if (answers === 0 || path.endsWith('.blk') || !call.includes('\\"seq\\":')) continue
    counts.said += answers
    counts.unsynced += unsynced.size > 0 ? answers : 0
  }
  return counts
}
