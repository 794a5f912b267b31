/** Lists what the inbox holds, of the containers when they run, else of the plain way. */

import { runInTunnel } from './in-tunnel.ts'

process.exitCode = runInTunnel('tunnel/src/inbox/show-inbox.ts')
