/** Process that declines entries of a spool on NATS, and writes their keys to stdout: `decliner-process.ts <host:port> <count>`. */

import type { Lease } from '../../../tunnel/src/pipeline/spool.ts'
import { ALL, LONG_MS } from './entries.ts'
import { openSpoolOn } from './jetstream-spool.ts'

const AT_A_TIME = 16

const [server = '', many = '1'] = process.argv.slice(2)
const spool = await openSpoolOn({ server })
const leases: Lease[] = []
while (leases.length < Number(many)) leases.push(...(await spool.take(Number(many), LONG_MS, ALL)))
await Promise.all(
  Array.from({ length: AT_A_TIME }, async () => {
    for (let lease = leases.pop(); lease; lease = leases.pop()) {
      await spool.finish(lease, { state: 'declined', status: 400 })
      console.log(lease.key)
    }
  }),
)
