/** Formats the findings for people and for scripts. */

import type { Diagnosis, Result } from './check.ts'

const LABELS: Record<Result, string> = {
  pass: 'pass',
  warn: 'warn',
  fail: 'FAIL',
  unknown: '  – ',
}
const INDENT = '      '

export function formatText(site: string, diagnosis: Diagnosis): string {
  const lines = diagnosis.flatMap(({ result, title, message, verifies, remedy, blocked_by: blockedBy }) => [
    `${LABELS[result]}  ${title}: ${message}`,
    ...(blockedBy ? [] : [`${INDENT}Verifies: ${verifies}`]),
    ...(blockedBy || result === 'pass' ? [] : [`${INDENT}Remedy: ${remedy}`]),
  ])
  const { pass, warn, fail, unknown } = countResults(diagnosis)
  const summary = `${pass} passed, ${warn} warned, ${fail} failed, ${unknown} not checkable from here`
  return [site, '', ...lines, '', summary].join('\n')
}

export function formatJson(site: string, diagnosis: Diagnosis): string {
  return JSON.stringify({ site, ...countResults(diagnosis), checks: diagnosis }, null, 2)
}

function countResults(diagnosis: Diagnosis): Record<Result, number> {
  const count = { pass: 0, warn: 0, fail: 0, unknown: 0 }
  for (const { result } of diagnosis) count[result]++
  return count
}

/** Returns 1 when a check failed. A warning does not stop a script. */
export function exitCodeOf(diagnosis: Diagnosis): 0 | 1 {
  return diagnosis.some(({ result }) => result === 'fail') ? 1 : 0
}
