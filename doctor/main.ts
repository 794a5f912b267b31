/** Checks a deployment through its public address, and reports problems with their remedies. */

import { runChecks } from './check.ts'
import { CHECKS } from './checks.ts'
import { openDeployment } from './deployment.ts'
import { readOptions, UsageError } from './options.ts'
import { exitCodeOf, formatJson, formatText, listFindings } from './report.ts'

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`culvert doctor: ${error.message}`)
  process.exitCode = 2
}

async function main(args: string[]): Promise<number> {
  const options = await readOptions(args)
  if ('usage' in options) {
    console.log(options.usage)
    return 0
  }
  const deployment = await openDeployment(options)
  const diagnosis = await runChecks(CHECKS, deployment)
  await deployment.admin?.publish(listFindings(diagnosis))
  console.log((options.json ? formatJson : formatText)(options.site, diagnosis))
  return exitCodeOf(diagnosis)
}
