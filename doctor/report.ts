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
  const checked = diagnosis.filter(({ blocked_by: cause }) => cause === undefined)
  const lines = checked.flatMap(({ name, result, title, message, verifies, remedy }) => {
    const consequences = diagnosis.filter(({ blocked_by: cause }) => cause === name)
    return [
      `${LABELS[result]}  ${title}: ${message}`,
      `${INDENT}Checks: ${verifies}`,
      ...(result === 'pass' ? [] : [`${INDENT}Remedy: ${remedy}`]),
      ...(consequences.length === 0 ? [] : [`${INDENT}Not checked until then: ${listTitles(consequences)}.`]),
    ]
  })
  const { pass, warn, fail, unknown } = countResults(diagnosis)
  const summary = `${pass} passed, ${warn} warned, ${fail} failed, ${unknown} not checkable from here`
  return [site, '', ...lines, '', summary].join('\n')
}

function listTitles(checks: Diagnosis): string {
  return checks.map(({ title }) => `“${title}”`).join(', ')
}

export function formatJson(site: string, diagnosis: Diagnosis): string {
  return JSON.stringify({ site, ...countResults(diagnosis), checks: diagnosis }, null, 2)
}

function countResults(diagnosis: Diagnosis): Record<Result, number> {
  const count = { pass: 0, warn: 0, fail: 0, unknown: 0 }
  for (const { result } of diagnosis) count[result]++
  return count
}

/** Checks whose findings the tunnels report themselves. */
const KNOWN_TO_TUNNELS = new Set(['client-address', 'credentials', 'delivery', 'replicas', 'tunnel-state'])

/** Returns a sentence with the remedy for each problem that the tunnels cannot see. */
export function listFindings(diagnosis: Diagnosis): string[] {
  return diagnosis
    .filter(({ name, result }) => /^(fail|warn)$/.test(result) && !KNOWN_TO_TUNNELS.has(name))
    .map(
      ({ title, result, message, remedy }) =>
        `“${title}” ${result === 'fail' ? 'failed' : 'warns'}: ${message} ${remedy}`,
    )
}

/** Returns 1 when a check failed. A warning does not stop a script. */
export function exitCodeOf(diagnosis: Diagnosis): 0 | 1 {
  return diagnosis.some(({ result }) => result === 'fail') ? 1 : 0
}
