/** What one envelope costs: Culvert's tunnel as shipped, beside Sentry's own handler and beside the floor. */

import { writeFile } from 'node:fs/promises'
import { measureAlone } from './alone.ts'
import { takeCores } from './cores.ts'
import { Invalid } from './measure.ts'
import { readArguments } from './plan.ts'
import { compareSideBySide } from './side-by-side.ts'
import { openSink } from './sink.ts'
import { describeRun, drawTable, type Results } from './table.ts'

try {
  await run()
} catch (error) {
  console.error(`culvert bench: ${error instanceof Invalid ? 'the run is invalid: ' : ''}${say(error)}`)
  process.exitCode = 1
}

async function run(): Promise<void> {
  const { plan, json } = readArguments(process.argv.slice(2))
  if (process.platform !== 'linux') throw new Error('CPU time is read from /proc: this needs Linux')
  const cores = takeCores()
  const about = describeRun(cores, plan)
  const results = await measureAll()
  console.log(`${about}\n\n${drawTable(results, plan)}`)
  if (json) await writeFile(json, `${JSON.stringify({ about, plan, ...results }, null, 2)}\n`)

  async function measureAll(): Promise<Results> {
    await using sink = await openSink()
    const sideBySide = await compareSideBySide(plan, cores, sink, tell)
    return { sideBySide, alone: await measureAlone(plan, cores, sink, tell) }
  }
}

/** Progress stands apart from the table. */
function tell(step: string): void {
  process.stderr.write(`${step} …\n`)
}

function say(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
