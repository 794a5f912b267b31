/** Moves what waits into a file and back, in the containers when they run (FILE is theirs then), else of the plain way. */

import { runInTunnel } from './tunnel-command.ts'

const elsewhere = process.env.SPOOL_URL ? ['SPOOL_URL'] : [] // another spool than the one the tunnels have

process.exitCode = runInTunnel('tunnel/src/move-spool.ts', elsewhere)
