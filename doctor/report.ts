/** What was found, for people and for scripts. */

import type { Result } from './check.ts'
import type { Diagnosis } from './runner.ts'

const WORDS: Record<Result, string> = {
  pass: 'pass',
  warn: 'warn',
  fail: 'FAIL',
  unknown: '  – ',
}
const INDENT = '      '

export function tell(site: string, diagnosis: Diagnosis): string {
  const lines = diagnosis.flatMap(({ result, title, says, proves, remedy, cause }) => [
    `${WORDS[result]}  ${title}${result === 'pass' ? '.' : '?'} ${says}`,
    ...(cause ? [] : [`${INDENT}${result === 'pass' ? 'Proves' : 'Would prove'}: ${proves}`]),
    ...(cause || result === 'pass' ? [] : [`${INDENT}Remedy: ${remedy}`]),
  ])
  return [site, '', ...lines, '', summaryOf(diagnosis)].join('\n')
}

function summaryOf(diagnosis: Diagnosis): string {
  const count = countOf(diagnosis)
  return `${count.pass} passed, ${count.warn} warned, ${count.fail} failed, ${count.unknown} not checkable from here`
}

export function tellJson(site: string, diagnosis: Diagnosis): string {
  return JSON.stringify({ site, ...countOf(diagnosis), checks: diagnosis }, null, 2)
}

function countOf(diagnosis: Diagnosis): Record<Result, number> {
  const count = { pass: 0, warn: 0, fail: 0, unknown: 0 }
  for (const { result } of diagnosis) count[result]++
  return count
}

/** The exit status. A warning is none for a script to stop at. */
export function verdictOf(diagnosis: Diagnosis): 0 | 1 {
  return diagnosis.some(({ result }) => result === 'fail') ? 1 : 0
}
