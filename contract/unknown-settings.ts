/** Hints for names in an environment that were settings, or look like a misspelt one. */

import { distance } from 'fastest-levenshtein'
import { type Environment, rowOf, SETTING_NAMES, type SettingName } from './settings.ts'

const KNOWN = new Set(SETTING_NAMES.flatMap(namesOf))

const SHORTEST = 6 // HOST and POST are names of other programs too
const LONG = 14 // from here on two slips are accepted

/** Names that were settings, and what to do instead. */
const REMOVED = new Map([
  ['ADDRESS_BURST', 'The burst is ten seconds of ADDRESS_RATE: set that.'],
  ['ADDRESS_BYTES', 'The limit is 100 kB for each envelope of ADDRESS_RATE: set that.'],
  ['HEADER_BYTES', 'A header line may have 64 KiB. Put the data into the payload of an item.'],
  ['INBOX', 'Set KEEP_HOURS above 0 to keep errors and feedback beside a real DSN.'],
  [
    'INBOX_FILE',
    'The spool has the envelopes of the inbox. To take over an inbox of an earlier release, move its file to inbox.db beside the file of the spool.',
  ],
  ['MAX_ITEMS', 'An envelope may have 1,000 items. Split a larger one.'],
  ['MAX_ITEM_BYTES', 'Set MAX_ENVELOPE_BYTES above its default: items may then be as large as an envelope.'],
  ['PROJECT_BURST', 'The burst is ten seconds of PROJECT_RATE: set that.'],
  [
    'TOTAL_HEADER_BYTES',
    'All header lines together may have 1 MiB. Put the data into the payloads of items.',
  ],
  [
    'UPSTREAM_CONNECTIONS',
    'Each tunnel opens up to 64 connections to a server. Use fewer replicas for fewer.',
  ],
  [
    'UPSTREAM_CONNECT_MS',
    'The time to connect is half of UPSTREAM_LATE_MS, and at least a second: set that.',
  ],
])

/** Returns a sentence for each name that was a setting, or is close to one. An environment is full of names of other programs. */
export function findUnknown(env: Environment): string[] {
  return Object.keys(env).flatMap((name) => {
    if (!env[name] || KNOWN.has(name)) return []
    const remedy = REMOVED.get(name)
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
