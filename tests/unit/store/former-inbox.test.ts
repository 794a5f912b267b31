/** Inbox of the previous release, which the spool takes over. */

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import type { Call } from '../../../tunnel/src/store/sqlite/calls.ts'
import { SpoolFile } from '../../../tunnel/src/store/sqlite/spool-file.ts'
import { type OpenSpoolFile, openSqliteSpool } from '../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { attachmentOf, errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { PLENTY } from '../../support/spool/entries.ts'
import { PreviousInbox } from '../../support/spool/previous-inbox.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { settingsOf } from '../../support/tunnel/running.ts'

const HOUR_MS = 3_600_000
const eventId = (n: number) => String(n).padStart(32, '0')
const errorAt = (n: number) => ({
  ...{ id: `old-${n}`, time: Date.now() - HOUR_MS, eventId: eventId(n), network: '198.51.100.9' },
  envelope: errorOf(INBOX_DSN, { event_id: eventId(n) }),
})

describe('The inbox of the previous release', () => {
  let started: AsyncDisposableStack
  let folder: string
  let file: string

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    folder = started.use(await makeFolder()).path
    file = join(folder, 'inbox.db')
  })

  afterEach(() => started.disposeAsync())

  const open = async (env = {}) => started.use(await openTunnel({ env: settingsOf(folder, env) }))

  async function eventsIn(tunnel: Tunnel): Promise<string[]> {
    const ids: string[] = []
    for (let after = ''; ; ) {
      const { entries, next } = await (await tunnel.admin(`/inbox?limit=200${after}`)).json()
      ids.push(...entries.map((entry: { event_id: string }) => entry.event_id))
      if (next === undefined) return ids.sort()
      after = `&after=${next}`
    }
  }

  it('is taken over with receipts, times and envelopes, and its file is removed', async () => {
    const previous = new PreviousInbox(file)
    const old = errorAt(1)
    previous.keep(old)
    const large = { ...errorAt(2), envelope: attachmentOf(INBOX_DSN, Buffer.alloc(3 * 1024 * 1024)) }
    previous.keep(large)
    previous.close()
    const tunnel = await open()
    await expect.poll(() => existsSync(file)).toBe(false)
    const { entries } = await (await tunnel.admin('/inbox')).json()
    expect(entries).toMatchObject([
      { id: 'old-2', types: ['attachment'] },
      { id: 'old-1', time: old.time, event_id: old.eventId, is_error: true },
    ])
    for (const { id, envelope } of [old, large]) {
      const stored = await (await tunnel.admin(`/inbox/${id}`)).arrayBuffer()
      expect(Buffer.from(stored).equals(envelope)).toBe(true)
    }
  })

  it('loses no envelope that an old replica adds, and is not removed before that has stopped', async () => {
    const previous = new PreviousInbox(file)
    for (let n = 0; n < 300; n++) previous.keep(errorAt(n))
    const [one, other] = [await open(), await open()]
    for (let n = 300; n < 400; n++) {
      previous.keep(errorAt(n))
      const body = errorOf(INBOX_DSN, { event_id: eventId(1_000 + n) })
      expect((await post((n % 2 ? one : other).url, { body })).status).toBe(200)
      await wait(1)
    }
    await expect.poll(() => previous.count()).toBe(0)
    expect(existsSync(file)).toBe(true)
    previous.keep(errorAt(400))
    previous.close()
    await expect.poll(() => existsSync(file)).toBe(false)
    const all = Array.from({ length: 401 }, (_, n) => eventId(n))
    const own = Array.from({ length: 100 }, (_, n) => eventId(1_300 + n))
    expect(await eventsIn(one)).toEqual([...all, ...own])
  })

  it('has each envelope once when a tunnel stops between keeping and deleting it', async () => {
    const previous = new PreviousInbox(file)
    previous.keep(errorAt(1))
    const before = await open()
    await expect.poll(() => eventsIn(before)).toHaveLength(1)
    await before.stop()
    previous.close()
    const after = await open()
    await expect.poll(() => existsSync(file)).toBe(false)
    expect(await eventsIn(after)).toEqual([eventId(1)])
  })

  it('stays with a DSN and without KEEP_HOURS, and the log names it', async () => {
    const previous = new PreviousInbox(file)
    previous.keep(errorAt(1))
    previous.close()
    const sentry = started.use(await startSentry())
    const tunnel = await open({ SENTRY_DSN: sentry.dsn() })
    await tunnel.log(
      ({ msg }) => msg?.includes('is the inbox of an earlier release: set KEEP_HOURS') === true,
    )
    await tunnel.stop()
    expect(existsSync(file)).toBe(true)
  })

  it('may be a file of something else, which is left alone', async () => {
    writeFileSync(file, '')
    const tunnel = await open()
    expect((await post(tunnel.url, { body: errorOf(INBOX_DSN) })).status).toBe(200)
    await tunnel.stop()
    expect(existsSync(file)).toBe(true)
    expect(tunnel.logs.filter(({ msg }) => msg?.includes('cannot be read yet'))).toEqual([])
  })

  it('loses no envelope when the transaction that keeps it is rolled back', async () => {
    const previous = new PreviousInbox(file)
    previous.keep(errorAt(1))
    previous.close()
    const failing: Call = { number: 1, name: 'postpone', args: [{}] }
    const openFile: OpenSpoolFile = (options) => {
      const spoolFile = new SpoolFile(options)
      return {
        opened: Promise.resolve(spoolFile),
        async call(name, ...args) {
          const results = spoolFile.run([{ number: 0, name, args }, failing]) // in one transaction first
          const result = results.find(({ number }) => number === 0)
          if (result?.error) throw result.error
          return result?.value as never
        },
        close: async () => spoolFile.close(),
      }
    }
    const kept = { bytes: 64 * 1024 * 1024, ageMs: 24 * HOUR_MS }
    const spool = await openSqliteSpool(join(folder, 'spool.db'), { ...PLENTY, kept }, undefined, openFile)
    started.defer(() => spool.close())
    await expect.poll(() => existsSync(file)).toBe(false)
    expect(await spool.entries.count({ states: ['kept'] })).toMatchObject({ entries: 1 })
  })
})
