/** Command for the scripts, which do not import the tunnel: `node tunnel/src/commands/describe.ts settings|metrics`. */

import type { DescribedSettings } from 'contract/described-settings'
import type { Environment } from 'contract/settings'
import { BadSettings, readConfig } from '../config/config.ts'
import { Counters } from '../observe/counters.ts'
import type { Metric } from '../observe/exposition.ts'
import { listMetrics, type MetricsDeps } from '../observe/metrics.ts'
import { createProjects } from '../pipeline/projects.ts'

function describeSettings(env: Environment): DescribedSettings {
  try {
    const { shown, port, adminPort, edge } = readConfig(env)
    return { problems: [], values: { shown, port, adminPort, edge } }
  } catch (error) {
    if (error instanceof BadSettings) return { problems: error.problems }
    throw error
  }
}

/** Returns the declarations of the metrics. */
function describeMetrics(): Omit<Metric, 'read'>[] {
  const projects = createProjects([])
  const deps = { counters: new Counters(projects, () => 0), projects } as MetricsDeps // the others give values
  return listMetrics(deps).map(({ name, type, labels, help }) => ({ name, type, labels, help }))
}

if (import.meta.main) {
  const [subject] = process.argv.slice(2)
  if (subject === 'settings') console.log(JSON.stringify(describeSettings(process.env)))
  else if (subject === 'metrics') console.log(JSON.stringify(describeMetrics()))
  else throw new Error(`"${subject}" cannot be described; write settings or metrics`)
}
