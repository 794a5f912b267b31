/** Contract of the spool on several machines, in streams of NATS JetStream. */

import { afterAll, beforeAll, describe } from 'vitest'
import { type Nats, startNats } from '../../support/nats/nats.ts'
import { requires } from '../../support/requirements.ts'
import { entryPromises } from '../../support/spool/entry-guarantees.ts'
import { spoolPromises } from '../../support/spool/guarantees.ts'
import { openStoreOn } from '../../support/spool/jetstream-spool.ts'

describe('Several machines', requires('nats'), () => {
  let nats: Nats

  beforeAll(async () => {
    nats = await startNats()
  })
  afterAll(() => nats?.[Symbol.asyncDispose]())

  spoolPromises('NATS JetStream', (bounds) => openStoreOn(nats, bounds))
  entryPromises('NATS JetStream', (bounds) => openStoreOn(nats, bounds))
})
