/** Runs the doctor with the arguments of the command line, and exits with 2 when they are wrong. */

import { findUnknown } from 'contract/unknown-settings'
import { readEnvironment, withKeptPassword } from '../scripts/environment.ts'
import { runDoctor } from './doctor.ts'
import { UsageError } from './options.ts'

const env = withKeptPassword(readEnvironment())
for (const sentence of findUnknown(env)) console.error(sentence)
try {
  const { code, text } = await runDoctor(process.argv.slice(2), env)
  console.log(text)
  process.exitCode = code
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`culvert doctor: ${error.message}`)
  process.exitCode = 2
}
