/** Hashes the operator's password for OPERATOR_PASSWORD. The hash has no `$`, which Compose would expand. */

import { randomBytes, scrypt } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { MIN_PASSWORD_LENGTH } from 'contract/password'
import { runCommand, UserError } from './environment.ts'

const COST = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }
const HASH_BYTES = 32

const USAGE = `npm run hash-password
Reads the operator's password (${MIN_PASSWORD_LENGTH} characters or more) from standard input, and prints a hash for OPERATOR_PASSWORD.
It takes no arguments, because other users of the machine can see the arguments of a process.`

const derive = promisify<string, Buffer, number, typeof COST, Buffer>(scrypt)

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, HASH_BYTES, COST)
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join(':')
}

if (import.meta.main)
  await runCommand({ name: 'npm run hash-password', usage: USAGE, flags: [] }, async () => {
    if (process.stdin.isTTY) process.stderr.write('Type the password, then press Enter and Ctrl-D:\n')
    const password = (await text(process.stdin)).replace(/\r?\n$/, '')
    if (password.length < MIN_PASSWORD_LENGTH)
      throw new UserError(`The password is too short; write ${MIN_PASSWORD_LENGTH} characters or more.`)
    console.log(await hashPassword(password))
  })
