/** What replicas and a NATS server tell each other, when an answer is lost, or would be larger than a message. */

import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEntryAdmin } from '../../../tunnel/src/spool/jetstream/admin.ts'
import { entryOf as plainOf } from '../../../tunnel/src/spool/jetstream/codec.ts'
import { openMessages } from '../../../tunnel/src/spool/jetstream/messages.ts'
import { openPauses } from '../../../tunnel/src/spool/jetstream/pauses.ts'
import { openPublish } from '../../../tunnel/src/spool/jetstream/publish.ts'
import { openPutAgain } from '../../../tunnel/src/spool/jetstream/reschedule.ts'
import { openShares } from '../../../tunnel/src/spool/jetstream/usage.ts'
import type { Spool } from '../../../tunnel/src/spool/spool.ts'
import { requires } from '../../support/requirements.ts'
import { inOne, LONG_MS, spoolEntryOf } from '../../support/spool/entries.ts'
import { type NatsStore, openStore } from '../../support/spool/jetstream-spool.ts'
import { bytesOf, keysOf, putOne, store, takeAll } from '../../support/spool/operations.ts'

const STREAM = 'CULVERT_SPOOL'
const MIB = 1024 * 1024

function never(): never {
  throw new Error('it is in one message')
}

describe('On NATS JetStream', { ...requires('nats'), timeout: 60_000 }, () => {
  let scope: AsyncDisposableStack
  let opened: NatsStore

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    opened = scope.use(await openStore())
  })

  afterEach(() => scope.disposeAsync())

  const connection = async () => {
    const nc = await connect({ servers: opened.nats.server, noEcho: true })
    scope.defer(() => nc.close())
    return nc
  }

  it('a deletion whose answer was lost is ours, and one of what was gone before is not', async () => {
    const spool = await opened.spool()
    await store(spool)
    const nc = await connection()
    const jsm = await jetstreamManager(nc)
    const { deleteMessage } = jsm.streams
    let lost = 0
    jsm.streams.deleteMessage = async (...args) => {
      const deleted = await deleteMessage.apply(jsm.streams, args)
      if (lost++ === 0) throw new Error('its answer was lost')
      return deleted
    }
    const messages = openMessages(jetstream(nc), jsm)
    expect(await messages.remove(1)).toBe(true)
    expect((await jsm.streams.info(STREAM)).state.messages).toBe(0)
    expect(await messages.remove(1)).toBe(false)
  })

  it('one that is put again stands there once, though the answer of the server is lost', async () => {
    const spool = await opened.spool()
    const entry = await store(spool)
    const nc = await connection()
    const js = jetstream(nc)
    const { publish } = js
    let lost = 0
    js.publish = async (...args) => {
      const stored = await publish.apply(js, args)
      if (lost++ === 0) throw new Error('the answer is lost')
      return stored
    }
    const putAgain = openPutAgain(openMessages(js, await jetstreamManager(nc)))
    const [before] = await spool.list({ order: 'oldest', limit: 2 })
    const again = await putAgain(before?.place ?? 0, Date.now() + 60_000, 1)
    const found = await spool.list({ order: 'oldest', limit: 2 })
    expect(found).toMatchObject([{ key: entry.key, id: before?.id, place: again, leased: false }])
    expect(lost).toBe(2)
  })

  it('one that is put again is delivered once, though its copy came to its end before the server answered', async () => {
    const spool = await opened.spool()
    await store(spool)
    const nc = await connection()
    const js = jetstream(nc)
    const jsm = await jetstreamManager(nc)
    const messages = openMessages(js, jsm)
    const { publish } = js
    let lost = 0
    js.publish = async (...args) => {
      const stored = await publish.apply(js, args)
      if (lost++ > 0) return stored
      await messages.remove(stored.seq) // another replica has taken and delivered it
      throw new Error('the answer is lost')
    }
    const [before] = await spool.list({ order: 'oldest', limit: 1 })
    expect(await openPutAgain(messages)(before?.place ?? 0, Date.now(), 1)).toBeUndefined()
    expect(lost).toBe(2)
    expect((await jsm.streams.info(STREAM)).state.messages).toBe(0)
  })

  it('bytes that have come to their end many times are stored again, and not asked for as often', async () => {
    const nc = await connection()
    const js = jetstream(nc)
    const messages = openMessages(js, await jetstreamManager(nc))
    await opened.spool() // makes the stream
    let asked = 0
    const publish = openPublish({
      messages: {
        ...messages,
        publish(...args) {
          asked++
          return messages.publish(...args)
        },
      },
      parts: { write: never, read: () => never(), remove: never, sweep: never },
      ...{ partBytes: MIB, now: Date.now },
    })
    const body = Buffer.from('the same')
    const entry = await spoolEntryOf(body)
    for (let n = 0; n < 20; n++) {
      asked = 0
      const seq = await publish({ ...entry, mark: `put ${n}` }, inOne(body))
      expect(seq && (await messages.remove(seq))).toBe(true)
      expect(asked).toBeLessThan(10)
    }
  })

  describe('one that could not be removed when it was put again', () => {
    /** Both stand in the stream, due in so many milliseconds. */
    const standBeside = async (spool: Spool, bytes: number, firstDueMs: number, copyDueMs: number) => {
      const { entry } = await putOne(spool, { bytes })
      for (const lease of await takeAll(spool, 1)) await spool.postpone(lease, Date.now() + firstDueMs)
      const nc = await connection()
      const messages = openMessages(jetstream(nc), await jetstreamManager(nc))
      const remove = () => Promise.reject(new Error('the server is away'))
      const [first] = await spool.list({ order: 'oldest', limit: 1 })
      const copy = await openPutAgain({ ...messages, remove })(first?.place ?? 0, Date.now() + copyDueMs, 1)
      expect(copy).toBeGreaterThan(first?.place ?? 0)
      expect((await spool.totals()).envelopes).toBe(2)
      return entry
    }
    const left = async () => {
      const nc = await connection()
      return (await (await jetstreamManager(nc)).streams.info(STREAM)).state.messages
    }

    it.each([
      ['both are due', 100, 0, 0],
      ['its copy is due later', 100, 0, 500],
      ['its copy is due before it', 100, LONG_MS, 0],
      ['both name the same parts', 2 * MIB, 0, 0],
      ['both name the same parts, and its copy is due later', 2 * MIB, 0, 500],
      ['both name the same parts, and its copy is due before it', 2 * MIB, LONG_MS, 0],
    ])('is delivered once, where %s', async (_, bytes, firstDueMs, copyDueMs) => {
      const spool = await opened.spool()
      const { key } = await standBeside(spool, bytes, firstDueMs, copyDueMs)
      const [lease] = await takeAll(spool, 1)
      if (!lease) throw new Error('nothing was taken')
      expect(lease.key).toBe(key)
      expect(await bytesOf(await spool.read(lease))).toHaveLength(bytes)
      expect(await spool.finish(lease)).toBe(true)
      expect(await left()).toBe(0)
    })

    it.each([100, 2 * MIB])('is told of once when it is purged, %i bytes', async (bytes) => {
      const spool = await opened.spool()
      const { key } = await standBeside(spool, bytes, 0, LONG_MS)
      expect(keysOf(await spool.purge({}))).toEqual([key])
      expect(await left()).toBe(0)
    })

    it('is tried once when an operator hastens it', async () => {
      const spool = await opened.spool()
      const { key } = await standBeside(spool, 100, LONG_MS, LONG_MS)
      expect(await spool.retry({})).toBe(1)
      expect(keysOf(await spool.list({ order: 'oldest', limit: 2 }))).toEqual([key])
    })
  })

  it('one that several replicas put again at one moment stands there once', async () => {
    const spools = [await opened.spool(), await opened.spool(), await opened.spool()]
    const [spool] = spools
    if (!spool) throw new Error('there is no spool')
    const { key } = await store(spool)
    for (const lease of await takeAll(spool, 1)) await spool.postpone(lease, Date.now() + 60_000)
    const retried = await Promise.all(spools.map((each) => each.retry({})))
    expect(retried.reduce((sum, many) => sum + many)).toBe(1)
    expect(await spool.list({ order: 'oldest', limit: 2 })).toMatchObject([{ key }])
  })

  it('what is purged is told, though the server goes away before all is', async () => {
    const spool = await opened.spool()
    await Promise.all(Array.from({ length: 600 }, () => store(spool)))
    const nc = await connection()
    const jsm = await jetstreamManager(nc)
    const messages = openMessages(jetstream(nc), jsm)
    let rounds = 0
    const entryAdmin = openEntryAdmin({
      ...{ messages, now: Date.now, progress: async () => new Map() },
      putAgain: openPutAgain(messages),
      pauses: await openPauses(jetstream(nc), jsm, 1),
      async removeAll(all) {
        if (rounds++ > 0) throw new Error('the server is away')
        await Promise.all(all.map(({ seq }) => messages.remove(seq)))
        return all.map(({ entry }) => plainOf(entry))
      },
    })
    const purged = await entryAdmin.purge({})
    expect(purged.length + (await spool.totals()).envelopes).toBe(600)
    await expect(entryAdmin.purge({})).rejects.toThrow('the server is away')
  })

  it('a replica learns who fills the spool most from another that knows more addresses than a message holds', async () => {
    const [first, second] = [await connection(), await connection()]
    const [one, flood] = await Promise.all(
      ['203.0.113.7', '198.51.100.8'].map((network, n) => spoolEntryOf(Buffer.from(String(n)), { network })),
    )
    const weigh = ({ network }: { network: string }) => (network === flood?.network ? 1_000_000 : 1)
    async function* found() {
      for (let n = 0; n < 40_000; n++) if (one) yield { ...one, network: `2001:db8:${n.toString(16)}:0` }
      if (flood) yield flood
    }
    const known = await openShares(first, found, weigh)
    await first.flush() // it is heard by now
    const learned = await openShares(second, async function* nothing() {}, weigh)
    expect(learned.ofNetwork(flood?.network ?? '')).toBe(1_000_000)
    if (flood) learned.add(flood)
    await expect.poll(() => known.ofNetwork(flood?.network ?? '')).toBe(2_000_000)
  })
})
