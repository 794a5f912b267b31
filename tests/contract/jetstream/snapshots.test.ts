/** Snapshots in the buckets of a spool on NATS. */

import { rm } from 'node:fs/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import { SNAPSHOT_STEPS } from '../../../tunnel/src/pipeline/shared-state.ts'
import { requires } from '../../support/requirements.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'
import { putOne } from '../../support/spool/operations.ts'
import { snapshotRow } from '../../support/spool/snapshot-guarantees.ts'

const { step: HOUR } = snapshotRow()
const BUCKET_BYTES = 16 * 1024 * 1024

describe('Snapshots on NATS', requires('nats'), () => {
  it('are removed by the server after its time, and bounded to 16 MiB for each step', async () => {
    await using store = await openStore()
    const { snapshots } = (await store.spool()).state
    await snapshots.add(SNAPSHOT_STEPS.map(({ step }) => snapshotRow({ step })))
    const nc = await connect({ servers: store.nats.server })
    const { streams } = await jetstreamManager(nc)
    for (const { step, keepMs } of SNAPSHOT_STEPS) {
      const { config } = await streams.info(`KV_CULVERT_HISTORY_${step / 1000}S`)
      expect(config).toMatchObject({ max_age: keepMs * 1_000_000, max_bytes: BUCKET_BYTES })
    }
    await nc.close()
  })

  it('reject rows while they are full, and envelopes are stored', async () => {
    await using store = await openStore()
    const spool = await store.spool()
    const data = 'x'.repeat(900_000)
    const add = async (n: number) =>
      spool.state.snapshots.add([snapshotRow({ replica: `replica-${n}`, data })])
    await expect(
      (async () => {
        for (let n = 0; n < 20; n++) await add(n)
      })(),
    ).rejects.toThrow('maximum bytes')
    await putOne(spool)
    expect(await spool.totals()).toMatchObject({ envelopes: 1 })
  })

  it('rejects while the server is away, and are kept again when it is back without its data', async () => {
    await using store = await openStore()
    const { snapshots } = (await store.spool()).state
    const row = snapshotRow()
    await snapshots.add([row])
    await store.nats.kill()
    await expect(snapshots.add([row])).rejects.toThrow()
    await expect(snapshots.read(HOUR, 0)).rejects.toThrow()
    await rm(store.nats.store, { recursive: true, force: true })
    await store.nats.start()
    await expect.poll(() => snapshots.add([row]).then(() => 'added', String)).toBe('added')
    expect(await snapshots.read(HOUR, 0)).toEqual([row])
  })
})
