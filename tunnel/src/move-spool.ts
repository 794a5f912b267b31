/** Moves what waits out of the spool that `SPOOL_URL` names into a file, or out of a file into it: `npm run spool -- export|import FILE`. */

import { orRefuse, readConfigOrExit } from './config/startup-errors.ts'
import { openSpool } from './forwarding.ts'
import type { Spool } from './spool/spool.ts'
import { copyOut, putIn, takeOut } from './spool/transfer.ts'

const USAGE = `npm run spool -- export FILE          copies what waits into FILE; all of it goes on waiting
npm run spool -- export FILE --move   takes it out: what is in FILE waits no longer
npm run spool -- import FILE          puts what is in FILE into the spool; FILE stays as it is
`
const IN_CONTAINERS = 'while the containers run FILE is theirs: name one in /spool, like /spool/waiting'
/** What to do about a FILE that cannot be opened. */
const REMEDIES: Record<string, string> = {
  EEXIST: 'name another file, or take this one away: an export is not written over',
  ENOENT: `look whether it is there; ${IN_CONTAINERS}`,
  EROFS: IN_CONTAINERS,
}
const ALL = { addressShare: 1, projectShare: 1, keepsAll: true } as const // each was let in once, and none is lost for another

const [verb, path, flag] = process.argv.slice(2)
const act = actFor(verb, flag)
if (verb === '--help' || verb === '-h') process.stdout.write(USAGE)
else if (!act || !path) {
  process.stderr.write(USAGE)
  process.exitCode = 1
} else {
  const { spool: settings } = readConfigOrExit(process.env)
  const spool = await orRefuse(
    'SPOOL_URL: the spool cannot be opened; look at the disk or the server it names',
    () => openSpool(settings, ALL, Date.now, tell),
  )
  await act(spool, path).catch(fail)
  await spool.close()
}

function actFor(verb: string | undefined, flag: string | undefined) {
  if (verb === 'export' && flag === '--move') return move
  if (verb === 'export' && flag === undefined) return copy
  return verb === 'import' && flag === undefined ? put : undefined
}

async function copy(spool: Spool, path: string): Promise<void> {
  const { envelopes, bytes } = await copyOut(spool, path)
  tell(
    `${envelopes} envelopes (${bytes} bytes) are in ${path}. They wait in the spool as before: a tunnel that runs on it delivers them.`,
  )
}

async function move(spool: Spool, path: string): Promise<void> {
  const { envelopes, bytes, underWay, gone } = await takeOut(spool, path)
  tell(`${envelopes} envelopes (${bytes} bytes) are in ${path}, and wait in the spool no longer.`)
  if (underWay + gone > 0)
    tell(
      `${underWay + gone} of them were being delivered meanwhile: these may arrive twice. Pausing the spool before prevents it.`,
    )
}

async function put(spool: Spool, path: string): Promise<void> {
  const { stored, known, bytes, stopped } = await putIn(spool, path)
  tell(`${stored} envelopes (${bytes} bytes) of ${path} wait in the spool now; ${known} did already.`)
  if (stopped !== undefined)
    fail(new Error(`${stopped}. What is before that is in; import it again to go on from there.`))
}

function fail({ message, code = '' }: NodeJS.ErrnoException): void {
  const remedy = REMEDIES[code]
  process.stderr.write(`culvert spool: ${message}${remedy ? `; ${remedy}` : ''}\n`)
  process.exitCode = 1
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`)
}
