/** Reads the file of `SCRUB_RULES`. */

import { readFileSync } from 'node:fs'
import { FileProblem } from '../policy/scrub/located-json.ts'
import type { RuleSet } from '../policy/scrub/rule-index.ts'
import { readRulesFile } from '../policy/scrub/rules-file.ts'

/** Appends a problem with line and column to `problems`, and returns no rules then. */
export function readScrubRules(path: string, problems: string[]): RuleSet['selected'] {
  try {
    return readRulesFile(readFileSync(path))
  } catch (error) {
    const problem =
      error instanceof FileProblem
        ? `${error.message}; docs/privacy.md describes the format`
        : 'cannot be read; write the path of a file that this process may read'
    problems.push(`SCRUB_RULES: "${path}" ${problem}`)
    return []
  }
}
