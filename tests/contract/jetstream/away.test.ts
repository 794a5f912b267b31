/** The spool on a NATS server whose connection ends for good. */

import { expect, it } from 'vitest'
import { StoreAway } from '../../../tunnel/src/store/unreachable.ts'
import { startNats } from '../../support/nats/nats.ts'
import { startNatsProxy } from '../../support/nats/proxy.ts'
import { requires } from '../../support/requirements.ts'
import { openSpoolOn } from '../../support/spool/jetstream-spool.ts'
import { putOne } from '../../support/spool/operations.ts'

const OPTIONS = { ...requires('nats'), timeout: 60_000, concurrent: true }
const STREAM_INFO = '"subjects_filter"' // in the first request to streams that are open
const PUT_MS = 20_000 // 5 s; the machine may be busy

it.each(['CONNECT {', '$JS.API.INFO', 'STREAM.CREATE', STREAM_INFO])(
  'opening the spool rejects with StoreAway when the connection ends at %s',
  OPTIONS,
  async (text) => {
    await using nats = await startNats()
    await using proxy = await startNatsProxy(nats.server)
    proxy.dieAfter(text)
    await expect(openSpoolOn(proxy)).rejects.toThrow(StoreAway)
  },
)

it.each<[string, 'dieAfter' | 'dropAfter']>([
  ['ends', 'dieAfter'],
  ['ends, and later ones are dropped,', 'dropAfter'],
])('a put during which the connection %s is rejected within seconds', OPTIONS, async (_, way) => {
  await using nats = await startNats()
  await using proxy = await startNatsProxy(nats.server)
  const spool = await openSpoolOn(proxy)
  proxy[way]('HPUB culvert.spool')
  const began = performance.now()
  await expect(putOne(spool)).rejects.toThrow('NATS does not answer (no connection)')
  expect(performance.now() - began).toBeLessThan(PUT_MS)
  await spool.close()
})
