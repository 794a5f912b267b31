/** Large bodies in the spool on a NATS server: how they are read, and what remains of them. */

import { buffer } from 'node:stream/consumers'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { describe, expect } from 'vitest'
import type { Lease, Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { it } from '../../support/nats/fixtures.ts'
import { startNatsProxy } from '../../support/nats/proxy.ts'
import { requires } from '../../support/requirements.ts'
import { openSpoolOn, openStore } from '../../support/spool/jetstream-spool.ts'
import { putOne, store as putStored, takeAll } from '../../support/spool/operations.ts'

const MIB = 1024 * 1024
const MESSAGE = 'HPUB culvert.spool.0.'
const CHUNKS = '$O.CULVERT_SPOOL_ERRORS.C.>'

describe('A large body in the spool on NATS', requires('nats'), () => {
  it('is read from the server completely, and only as fast as its reader', async ({ nats }) => {
    await using proxy = await startNatsProxy(nats.server)
    const spool = await openSpoolOn(proxy)
    const { body } = await putOne(spool, { bytes: 24 * MIB })
    const [lease] = await takeAll(spool, 1)
    const before = proxy.sentBytes()
    const chunks = (await openBody(spool, lease))[Symbol.asyncIterator]()
    const pieces: Buffer[] = [(await chunks.next()).value]
    await spool.totals() // its response arrives after the chunks that the server has sent
    expect(proxy.sentBytes() - before).toBeLessThan(4 * MIB)
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) pieces.push(next.value)
    expect(Buffer.concat(pieces).equals(body)).toBe(true)
    await spool.close()
  })

  it('is readable when its message was stored although the put failed', async ({ nats }) => {
    await using proxy = await startNatsProxy(nats.server)
    const [spool, other] = await Promise.all([openSpoolOn(proxy), openSpoolOn(nats)])
    proxy.withholdAfter(MESSAGE)
    await expect(putOne(spool, { bytes: 5 * MIB })).rejects.toThrow(/^NATS does not answer/)
    proxy.restore()
    const putAgain = () =>
      putOne(spool)
        .then(({ result }) => result.kind)
        .catch(() => 'rejected')
    await expect.poll(putAgain).toBe('stored') // by then the server has run any deletion of the failed put
    const [lease] = await takeAll(other, 1)
    expect(lease?.bytes).toBe(5 * MIB)
    expect(await buffer(await openBody(other, lease))).toHaveLength(5 * MIB)
    await Promise.all([spool, other].map((each) => each.close()))
  })

  it('ends with an error when its chunks are missing', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    await putStored(spool, { bytes: 5 * MIB })
    const [lease] = await takeAll(spool, 1)
    const stream = await openBody(spool, lease)
    const nc = await connect({ servers: store.nats.server })
    await (await jetstreamManager(nc)).streams.purge('OBJ_CULVERT_SPOOL_ERRORS', { filter: CHUNKS })
    await nc.close()
    await expect(buffer(stream)).rejects.toThrow(/its body is gone/)
  })
})

async function openBody(spool: Spool, lease: Lease | undefined) {
  const body = lease && (await spool.read(lease))
  if (!body || Buffer.isBuffer(body)) throw new Error('it is not a large body')
  return body.open()
}
