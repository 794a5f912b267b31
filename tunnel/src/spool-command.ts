/** Command for the spool of one machine: `node tunnel/src/spool-command.ts recover FILE`. */

import { type Recovery, recover } from './spool/recovery/recover.ts'

process.umask(0o077) // files hold error reports and client addresses

const USAGE = `npm run spool -- recover FILE
  reads a damaged spool file, which a tunnel has set aside, and puts its envelopes back into the spool beside it. Tunnels may run meanwhile.
  In a container: docker compose exec tunnel node tunnel/src/spool-command.ts recover FILE`

const [command, file, ...rest] = process.argv.slice(2)
if (command === '--help') print(USAGE)
else if (command !== 'recover' || file === undefined || rest.length > 0) fail(USAGE)
else
  await recover(file).then(
    (recovery) => print(describe(file, recovery)),
    ({ message }) => fail(`culvert: ${message}`),
  )

function describe(name: string, recovery: Recovery | undefined): string {
  if (!recovery) return `${name} was recovered before. Nothing was done.`
  const { recovered, known, unreadable, oldest, renamedTo } = recovery
  return [
    `Recovered: ${recovered} envelopes, which the tunnels deliver now.`,
    `Already known: ${known} envelopes, which were put back or stored before.`,
    `Unreadable: ${unreadable} envelopes, which are lost.`,
    ...(oldest === undefined
      ? []
      : [
          `The oldest one arrived at ${new Date(oldest).toISOString()}. Envelopes older than SPOOL_HOURS expire.`,
        ]),
    `The file is ${renamedTo} now. Delete it when you do not need it any more.`,
  ].join('\n')
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function fail(text: string): void {
  process.stderr.write(`${text}\n`)
  process.exitCode = 1
}
