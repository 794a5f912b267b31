/** Process that leases entries of a spool on NATS, writes their keys to stdout and waits to be killed: `taker-process.ts <host:port>`. */

import { ALL, LONG_MS } from './entries.ts'
import { openSpoolOn } from './jetstream-spool.ts'

const [server = ''] = process.argv.slice(2)
const spool = await openSpoolOn({ server })
for (;;) for (const { key } of await spool.take(10, LONG_MS, ALL)) console.log(key)
