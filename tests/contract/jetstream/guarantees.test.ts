/** Contract of the spool on several machines, in streams of NATS JetStream. */

import { describe } from 'vitest'
import { requires } from '../../support/requirements.ts'
import { spoolPromises } from '../../support/spool/guarantees.ts'
import { openStore } from '../../support/spool/jetstream-spool.ts'

describe('Several machines', requires('nats'), () => spoolPromises('NATS JetStream', openStore))
