/** Checks a deployment through its public address, and reports problems with their remedies. */

import type { Environment } from 'contract/settings'
import { runChecks } from './check.ts'
import { CHECKS } from './checks.ts'
import { openDeployment } from './deployment.ts'
import { readOptions } from './options.ts'
import { exitCodeOf, formatJson, formatText, listFindings } from './report.ts'

/** Runs all checks, or returns the usage for --help. Throws a `UsageError` for wrong arguments. */
export async function runDoctor(args: string[], env: Environment): Promise<{ code: number; text: string }> {
  const options = await readOptions(args, env)
  if ('usage' in options) return { code: 0, text: options.usage }
  const deployment = await openDeployment(options)
  const diagnosis = await runChecks(CHECKS, deployment)
  await deployment.admin?.publish(listFindings(diagnosis))
  const text = (options.json ? formatJson : formatText)(options.site, diagnosis)
  return { code: exitCodeOf(diagnosis), text }
}
