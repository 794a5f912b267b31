/** How a benchmark that makes tables runs: its progress stands apart from them, and what goes wrong is said in words. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StepFailed } from '../../scripts/progress.mjs'

/** Somebody counted otherwise, or what was counted cannot be right: no table may be made of it. */
export class Invalid extends Error {}

/** Sets the exit code where it fails. */
export async function runInWords(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    const first = firstOf(error)
    if (first instanceof StepFailed) console.error(first.output)
    console.error(`culvert bench: ${first instanceof Invalid ? 'the run is invalid: ' : ''}${say(error)}`)
    process.exitCode = 1
  }
}

/** What went wrong before anything went wrong while tidying up after it. */
function firstOf(error: unknown): unknown {
  return error instanceof SuppressedError ? firstOf(error.suppressed) : error
}

/** That stands first, the rest behind it. */
function say(error: unknown): string {
  if (error instanceof SuppressedError) return `${say(error.suppressed)}; then ${say(error.error)}`
  return error instanceof Error ? error.message : String(error)
}

/** Told a step as it begins, writes how long after `began` that was. */
export function tellSince(began: number): (step: string) => void {
  return (step) =>
    process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${step} …\n`)
}

/** Into `name.md`, `name.json` and `name.svg`; the tables are printed as well. */
export async function writeFound(
  folder: string,
  name: string,
  { tables, figures, picture }: { tables: string; figures: object; picture: string },
): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${name}.md`), `${tables}\n`)
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(figures, null, 2)}\n`)
  await writeFile(join(folder, `${name}.svg`), picture)
  const files = `${name}.md, ${name}.json and ${name}.svg in ${folder}`
  console.log(`${tables}\n\nTables, figures and picture: ${files}`)
}
