/** Entries that a NATS server lost while no tunnel ran, as the next tunnel counts them. */

import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { describe, expect } from 'vitest'
import type { Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { it } from '../../support/nats/fixtures.ts'
import type { Nats } from '../../support/nats/nats.ts'
import { requires } from '../../support/requirements.ts'
import { PLENTY } from '../../support/spool/entries.ts'
import { openSpoolOn } from '../../support/spool/jetstream-spool.ts'
import { store as putStored, takeAll } from '../../support/spool/operations.ts'

const STREAM = 'CULVERT_SPOOL_ERRORS'
const MINUTE_MS = 60_000

describe('A tunnel that starts after an absence', requires('nats'), () => {
  it('does not count delivered entries as lost when the last tunnel was stopped', async ({ nats }) => {
    const spool = await openSpoolOn(nats)
    await storeThree(spool)
    for (const lease of await takeAll(spool, 3)) await spool.finish(lease)
    await spool.close()
    expect(await lostAfter(nats, 70 * MINUTE_MS)).toEqual([undefined])
  })

  it('does not count delivered entries as lost when the last tunnel was killed minutes ago', async ({
    nats,
  }) => {
    const spool = await openSpoolOn(nats)
    await storeThree(spool)
    for (const lease of await takeAll(spool, 3)) await spool.finish(lease)
    expect(await lostAfter(nats, 2 * MINUTE_MS)).toEqual([undefined])
    await spool.close()
  })

  it('counts entries that the server deleted by age once', async ({ nats }) => {
    const spool = await openSpoolOn(nats)
    await storeThree(spool)
    await spool.close()
    await manage(nats, (jsm) => jsm.streams.purge(STREAM))
    expect(await lostAfter(nats, 70 * MINUTE_MS, 2)).toEqual([3, undefined])
  })

  it('counts the entries of a deleted stream once', async ({ nats }) => {
    const spool = await openSpoolOn(nats)
    await storeThree(spool)
    await spool.close()
    await manage(nats, (jsm) => jsm.streams.delete(STREAM))
    expect(await lostAfter(nats, 0, 2)).toEqual([3, undefined])
  })
})

/** Puts three entries, and makes the spool record their number. */
async function storeThree(spool: Spool): Promise<void> {
  for (let n = 0; n < 3; n++) await putStored(spool)
  expect((await spool.totals()).envelopes).toBe(3)
}

/** Starts replicas one after the other, and returns how many lost entries each counts. */
async function lostAfter(nats: Nats, absenceMs: number, replicas = 1): Promise<(number | undefined)[]> {
  const spools: Spool[] = []
  const now = () => Date.now() + absenceMs
  for (let n = 0; n < replicas; n++) spools.push(await openSpoolOn(nats, PLENTY, now, now))
  const lost = await Promise.all(spools.map(async (spool) => (await spool.totals()).lost))
  await Promise.all(spools.map((spool) => spool.close()))
  return lost
}

async function manage(
  { server }: Nats,
  change: (jsm: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<unknown>,
): Promise<void> {
  const nc = await connect({ servers: server })
  await change(await jetstreamManager(nc))
  await nc.close()
}
