/** Writes a hash of the operator's password, to be set as OPERATOR_PASSWORD in its place. It has no `$`, which Compose would eat. */

import { randomBytes, scrypt } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { wantsHelp } from './help.ts'

const COST = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }
const BYTES = 32
const SHORTEST = 12 // as in web

const derive = promisify<string, Buffer, number, typeof COST, Buffer>(scrypt)

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, BYTES, COST)
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join(':')
}

const HELP = `npm run hash-password

Reads the operator's password from standard input (${SHORTEST} characters or more), and writes a hash of it, to be set as
OPERATOR_PASSWORD in its place.
`

if (import.meta.main) {
  if (wantsHelp(process.argv)) process.stdout.write(HELP)
  else if (process.argv.length > 2)
    refuse(`It takes no arguments, which every list of processes shows.\n\n${HELP}`)
  else await run()
}

async function run(): Promise<void> {
  if (process.stdin.isTTY) process.stderr.write('Write the password, Enter, and Ctrl-D:\n')
  const password = (await text(process.stdin)).replace(/\r?\n$/, '')
  if (password.length < SHORTEST) refuse(`The password is too short; write ${SHORTEST} characters or more.\n`)
  else process.stdout.write(`${await hashPassword(password)}\n`)
}

function refuse(words: string): void {
  process.stderr.write(words)
  process.exitCode = 1
}
