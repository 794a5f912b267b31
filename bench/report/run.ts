/** Runs a benchmark: progress on stderr, tables on stdout, errors as sentences. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StepFailed } from '../../scripts/progress.mjs'

/** Error of a run whose counters disagree: its figures are not shown. */
export class Invalid extends Error {}

/** Runs a benchmark, and sets the exit code when it fails. */
export async function runInWords(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    const first = firstOf(error)
    if (first instanceof StepFailed) console.error(first.output)
    console.error(
      `culvert bench: ${first instanceof Invalid ? 'the run is invalid: ' : ''}${messageOf(error)}`,
    )
    process.exitCode = 1
  }
}

/** Returns the first error, before those of the clean-up. */
function firstOf(error: unknown): unknown {
  return error instanceof SuppressedError ? firstOf(error.suppressed) : error
}

/** Joins the messages of an error and of the errors of its clean-up. */
function messageOf(error: unknown): string {
  if (error instanceof SuppressedError)
    return `${messageOf(error.suppressed)}; then ${messageOf(error.error)}`
  return error instanceof Error ? error.message : String(error)
}

/** Returns a function that prints a step with the time since `began`. */
export function logSteps(began: number): (step: string) => void {
  return (step) =>
    process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${step} …\n`)
}

/** Writes `name.md`, `name.json` and, with a picture, `name.svg`, and prints the tables. */
export async function writeFound(
  folder: string,
  name: string,
  { tables, figures, picture }: { tables: string; figures: object; picture?: string },
): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${name}.md`), `${tables}\n`)
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(figures, null, 2)}\n`)
  if (picture !== undefined) await writeFile(join(folder, `${name}.svg`), picture)
  const files = [`${name}.md`, `${name}.json`, ...(picture === undefined ? [] : [`${name}.svg`])]
  console.log(`${tables}\n\nWritten into ${folder}: ${files.join(', ')}`)
}
