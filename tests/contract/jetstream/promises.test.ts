/** Contract of the spool on several machines, in streams of NATS JetStream. */

import { describe } from 'vitest'
import { requires } from '../../support/requirements.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'
import { spoolPromises } from '../../support/spool/promises.ts'

describe('Several machines', requires('nats'), () => spoolPromises('NATS JetStream', openStore))
