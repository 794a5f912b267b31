/** What the inbox keeps, and what becomes of an envelope that it cannot keep. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../tunnel/src/dsn.ts'
import { type InboxBounds, openInbox } from '../../tunnel/src/inbox.ts'
import { errorOf } from '../helpers/envelopes.ts'
import { makeFolder } from '../helpers/folder.ts'
import { post } from '../helpers/post.ts'
import { startSentry } from '../helpers/sentry.ts'
import { startTunnel } from '../helpers/tunnel.ts'

const DAY = 24 * 60 * 60 * 1000

describe('The inbox', () => {
  let started: AsyncDisposableStack
  let file: string

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    file = join(started.use(await makeFolder()).path, 'inbox.db')
  })

  afterEach(() => started.disposeAsync())

  function open(bounds: Partial<InboxBounds>, now = () => 0) {
    const all = { envelopes: 100, bytes: 10_000, ageMs: DAY, ...bounds }
    return started.adopt(openInbox(file, all, now), (inbox) => inbox.close())
  }

  const entry = (id: string, time = 0, bytes = 10) => ({ id, time, eventId: null, bytes, types: ['event'] })

  it('keeps the newest, so many of them', () => {
    const inbox = open({ envelopes: 2 })
    for (const id of ['a', 'b', 'c']) inbox.keep(entry(id), Buffer.from(id))
    expect(inbox.list(10).map(({ id }) => id)).toEqual(['c', 'b'])
    expect(inbox.read('a')).toBeUndefined()
    expect(inbox.read('c')?.toString()).toBe('c')
  })

  it('keeps so many bytes', () => {
    const inbox = open({ bytes: 25 })
    for (const id of ['a', 'b', 'c']) inbox.keep(entry(id), Buffer.alloc(10))
    expect(inbox.list(10).map(({ id }) => id)).toEqual(['c', 'b'])
  })

  it('keeps for so long', () => {
    let now = 0
    const inbox = open({}, () => now)
    inbox.keep(entry('old', 0), Buffer.alloc(1))
    now = 2 * DAY
    inbox.keep(entry('new', now), Buffer.alloc(1))
    expect(inbox.list(10).map(({ id }) => id)).toEqual(['new'])
  })

  it('that cannot keep an envelope says so, when nobody else has it', async () => {
    await using tunnel = await startTunnel({ env: { INBOX_FILE: file } })
    refuseAll()
    const heard = await post(tunnel.url, { body: errorOf(INBOX_DSN) })
    expect(heard).toMatchObject({ status: 503, json: { code: 'inbox-full' } })
    expect(heard.headers).not.toHaveProperty('retry-after')
  })

  it('that cannot keep an envelope costs nothing that Sentry takes', async () => {
    await using sentry = await startSentry()
    await using tunnel = await startTunnel({
      env: { SENTRY_DSN: sentry.dsn(), INBOX: 'on', INBOX_FILE: file },
    })
    refuseAll()
    expect(await post(tunnel.url, { body: errorOf(sentry.dsn()) })).toMatchObject({ status: 200 })
    expect(sentry.requests).toHaveLength(1)
  })

  /** A trigger does what a full disk would. */
  function refuseAll(): void {
    const db = new DatabaseSync(file)
    db.exec(`CREATE TRIGGER full BEFORE INSERT ON inbox BEGIN SELECT RAISE(ABORT, 'full'); END`)
    db.close()
  }
})
