/** A stranger's JSON as text: however deep it is nested, what says it ends, and the page that shows it stays small. */

const DEEPEST = 50 // levels: every one indents all lines within it

/** On lines of its own; `undefined` where it is nested too deep for that. */
export function sayJson(value: unknown): string | undefined {
  return isDeep(value, DEEPEST) ? undefined : (JSON.stringify(value, null, 2) ?? '')
}

/** On one line. */
export function sayJsonShort(value: unknown): string {
  return isDeep(value, DEEPEST) ? TOO_DEEP : (JSON.stringify(value) ?? '')
}

export const TOO_DEEP = 'It is nested too deep to be shown here: the download has it.'

function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeep(member, levels - 1))
}
