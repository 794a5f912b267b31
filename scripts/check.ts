/** Checks style and types: all of them, beside each other. */

import { join, resolve } from 'node:path'
import { runStep, type StepFailed } from './progress.mjs'

const ROOT = resolve(import.meta.dirname, '..')

const CHECKS: Record<string, string[]> = {
  'biome check': ['biome', 'check'],
  'tsc -p .': ['tsc', '-p', '.'],
  'tsc -p web': ['tsc', '-p', 'web'],
}

const failed: string[] = []
await Promise.all(
  Object.entries(CHECKS).map(([title, [program = '', ...args]]) => {
    const command = [join(ROOT, 'node_modules/.bin', program), ...args]
    return runStep(title, command, { cwd: ROOT }).catch((error: StepFailed) => {
      console.error(error.output)
      failed.push(title)
    })
  }),
)

if (failed.length > 0) console.error(`culvert: ${failed.join(', ')} failed.`)
process.exitCode = failed.length > 0 ? 1 : 0
