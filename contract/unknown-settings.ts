/** Hints for names in an environment that were settings, or look like a misspelt one. */

import { distance } from 'fastest-levenshtein'
import { REMOVED } from './settings/removed-settings.ts'
import { type Environment, rowOf, SETTING_NAMES, type SettingName } from './settings.ts'

const KNOWN = new Set(SETTING_NAMES.flatMap(namesOf))

const SHORTEST = 6 // HOST and POST are names of other programs too
const LONG = 14 // from here on two slips are accepted

/** Returns a sentence for each name that was a setting, or is close to one. An environment is full of names of other programs. */
export function findUnknown(env: Environment): string[] {
  return Object.keys(env).flatMap((name) => {
    if (!env[name] || KNOWN.has(name)) return []
    const remedy = REMOVED[name]
    if (remedy !== undefined) return [`${name} is no longer a setting and has no effect. ${remedy}`]
    const meant = meantBy(name.toUpperCase())
    return meant === undefined ? [] : [`${name} is not a setting and has no effect. Did you mean ${meant}?`]
  })
}

function meantBy(name: string): string | undefined {
  const near = [...KNOWN].flatMap((known) => {
    const slips = known.length < SHORTEST ? Infinity : slipsBetween(name, known)
    return slips <= (known.length < LONG ? 1 : 2) ? [{ known, slips }] : []
  })
  return near.sort((a, b) => a.slips - b.slips)[0]?.known
}

/** Returns the Levenshtein distance; a letter in a wrong place counts as one slip, not two. */
function slipsBetween(a: string, b: string): number {
  const slips = distance(a, b)
  return slips === 2 && sorted(a) === sorted(b) ? 1 : slips
}

function sorted(text: string): string {
  return [...text].sort().join('')
}

/** Returns the variables that a setting is read from. */
function namesOf(name: SettingName): string[] {
  const { hasFile, isProxy } = rowOf(name)
  return [name, ...(hasFile ? [`${name}_FILE`] : []), ...(isProxy ? [name.toLowerCase()] : [])]
}
