/**
 * The spool on several machines, a stream of NATS JetStream: what every spool promises. The model is left to SQLite: it knows who is oldest
 * to the millisecond, where a message that is put again stands behind younger ones here.
 */

import { describe } from 'vitest'
import { requires } from '../../support/requirements.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'
import { spoolPromises } from '../../support/spool/promises.ts'

describe('Several machines', requires('nats'), () => spoolPromises('NATS JetStream', openStore))
