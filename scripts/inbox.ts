/** Lists what the inbox holds, of the containers when they run, else of the plain way. */

import { runInTunnel } from './tunnel-command.ts'

process.exitCode = runInTunnel('tunnel/src/inbox/show-inbox.ts')
