/** Line of a setting, or text for the file of a secret, with which Culvert would have accepted a rejected or filtered envelope. */

import type { RejectionSample, SettingInForce } from 'contract/admin-api'
import { isOriginEntry } from 'contract/origins'

export type Rejected = {
  reason: string
  sample: RejectionSample | undefined
  /** Settings concerned, with their values. */
  settings: readonly SettingInForce[]
}

/** Words of FILTERS, by the reason that they cause. Those of CSP reports are the reasons. */
const FILTERS: Readonly<Record<string, string>> = {
  'browser-extensions': 'browser-extensions',
  'web-crawlers': 'web-crawlers',
  'legacy-browsers': 'legacy-browsers',
  localhost: 'localhost',
  'filtered-transaction': 'health-checks',
}

/** Limits that may be raised to accept larger envelopes or more of them. */
const LIMITS = ['MAX_ENVELOPE_BYTES', 'SPOOL_BYTES']

const NUMBER = /^\d+$/

/** Returns `undefined` when no line can be named, and while the settings are not known: a line would remove those in force. */
export function envLine({ reason, sample, settings }: Rejected): string | undefined {
  if (settings.length === 0) return undefined
  const filter = reason.startsWith('csp-') ? reason : FILTERS[reason]
  if (reason === 'dsn-unknown')
    return (
      sample?.dsn && settingLine('SENTRY_DSN', [...valuesOf('SENTRY_DSN', settings), sample.dsn], settings)
    )
  if (reason === 'origin-foreign') {
    const origin = headerOf('origin', sample) ?? ''
    return origin !== 'null' && isOriginEntry(origin) && !origin.includes('*')
      ? settingLine('ALLOWED_ORIGINS', [...valuesOf('ALLOWED_ORIGINS', settings), origin], settings)
      : undefined
  }
  if (reason === 'next-noise') return 'DROP_NEXT_NOISE=off'
  if (filter) return filterLine(filter, valuesOf('FILTERS', settings))
  const limit = settings.find(({ name, value }) => LIMITS.includes(name) && NUMBER.test(value))
  return limit && raisedLimit(limit)
}

/** Returns the line that switches a filter off, which one of `words` switches on, or which is on by default. */
function filterLine(filter: string, words: readonly string[]): string {
  const others = words.includes(filter) ? words.filter((word) => word !== filter) : [...words, `-${filter}`]
  return `FILTERS=${others.join(' ')}`
}

export function headerOf(name: string, sample: RejectionSample | undefined): string | undefined {
  return sample?.headers.find(([header]) => header === name)?.[1] ?? undefined
}

/** Returns the line that doubles a limit; `undefined` when it is no number, or at its maximum. */
export function raisedLimit({ name, value, max = Infinity }: SettingInForce): string | undefined {
  if (!NUMBER.test(value) || Number(value) >= max) return undefined
  return `${name}=${Math.min(2 * Number(value), max)}`
}

/** Returns the words of a setting; none for a dash. */
export function valuesOf(name: string, settings: readonly SettingInForce[]): string[] {
  const words = settings
    .filter((setting) => setting.name === name)
    .flatMap(({ value }) => value.split(/[\s,]+/))
  return [...new Set(words.filter((word) => word !== '' && word !== '–'))]
}

/** Returns the line of a setting; for one that was read from a file, the content of the file. */
export function settingLine(
  name: string,
  values: readonly string[],
  settings: readonly SettingInForce[],
): string {
  const text = [...new Set(values)].join(',')
  const isInFile = settings.some((setting) => setting.name === name && setting.file_variable)
  return isInFile ? text : `${name}=${text}`
}

const NAMED = /^([A-Z_]+)=(.*)$/s

/** Reports whether a line names its setting. The content of a file does not. */
export function isNamed(line: string): boolean {
  return NAMED.test(line)
}

/** Writes a line as a value of the Helm chart, in quotes, so that YAML reads no number or list. */
export function toYaml(line: string): string {
  return line.replace(NAMED, (_, name, value) => `${name}: ${JSON.stringify(value)}`)
}
