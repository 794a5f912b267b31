/** Tries a deployment through its public address, and says what is right, what is wrong and what to do about it. */

import { UserError } from '../scripts/environment.ts'
import { CHECKS } from './checks.ts'
import { meet } from './deployment.ts'
import { readArguments, USAGE } from './options.ts'
import { tell, tellJson, verdictOf } from './report.ts'
import { examineAll } from './runner.ts'

try {
  if (process.argv.slice(2).some((flag) => flag === '--help' || flag === '-h')) console.log(USAGE)
  else await examine()
} catch (error) {
  if (!(error instanceof UserError)) throw error
  console.error(`culvert doctor: ${error.message}`)
  process.exitCode = 2
}

async function examine(): Promise<void> {
  const orders = await readArguments(process.argv.slice(2))
  const diagnosis = await examineAll(CHECKS, await meet(orders))
  console.log(orders.json ? tellJson(orders.site, diagnosis) : tell(orders.site, diagnosis))
  process.exitCode = verdictOf(diagnosis)
}
