/** Settings that would have accepted a rejected, filtered, expired or evicted envelope, with their values. */

import type { FilteredReason, FinalOutcome, RateLimitedReason, SettingInForce } from 'contract/admin-api'
import type { RejectionCode } from 'contract/rejections'
import { rowOf, type SettingName } from 'contract/settings'
import { NONE } from 'contract/settings-reader'

type Reason = RejectionCode | FilteredReason | RateLimitedReason | FinalOutcome

/** Settings by reason. No setting changes the others. */
const SETTINGS: { readonly [reason in Reason]?: SettingName } = {
  'tunnel-busy': 'MEMORY_BYTES',
  'envelope-too-large': 'MAX_ENVELOPE_BYTES',
  'item-too-large': 'MAX_ENVELOPE_BYTES',
  'dsn-unknown': 'SENTRY_DSN',
  'host-unknown': 'ALLOWED_HOSTS',
  'origin-foreign': 'ALLOWED_ORIGINS',
  'report-foreign': 'ALLOWED_ORIGINS',
  'report-type': 'FILTERS',
  'spool-full': 'SPOOL_BYTES',
  'spool-share': 'SPOOL_BYTES',
  'spool-unwritable': 'SPOOL_URL',
  expired: 'SPOOL_HOURS',
  evicted: 'SPOOL_BYTES',
  throttled: 'ADDRESS_RATE',
  'next-noise': 'DROP_NEXT_NOISE',
  'browser-extensions': 'FILTERS',
  'web-crawlers': 'FILTERS',
  'legacy-browsers': 'FILTERS',
  'ip-address': 'FILTER_ADDRESSES',
  localhost: 'FILTERS',
  'filtered-transaction': 'FILTERS',
  'error-message': 'FILTER_ERROR_MESSAGES',
  'csp-extensions': 'FILTERS',
  'csp-about': 'FILTERS',
  'csp-blob': 'FILTERS',
  'csp-injected-scripts': 'FILTERS',
  'csp-localhost': 'FILTERS',
  'release-version': 'FILTER_RELEASES',
  storm: 'STORM_LIMIT',
  quota: 'QUOTA',
  'quota-address': 'QUOTA',
  unscrubbable: 'SCRUB',
  'attachments-dropped': 'SCRUB',
}

/** Without a DSN, the share of a client address is smaller than the largest envelope. */
const OF_INBOX: typeof SETTINGS = { 'envelope-too-large': 'SPOOL_BYTES' }

type RemedyConfig = {
  shown: { [name in SettingName]?: string }
  fromFile: readonly SettingName[]
  forward: boolean
}

export function findRemedies(config: RemedyConfig): Record<string, SettingInForce[]> {
  const settings = config.forward ? SETTINGS : { ...SETTINGS, ...OF_INBOX }
  return Object.fromEntries(
    Object.entries(settings).map(([reason, name]) => [reason, [describeSetting(name, config)]]),
  )
}

function describeSetting(name: SettingName, { shown, fromFile }: RemedyConfig): SettingInForce {
  const { max } = rowOf(name)
  return {
    ...{ name, value: shown[name] ?? NONE },
    ...(max !== undefined && { max }),
    ...(fromFile.includes(name) && { file_variable: `${name}_FILE` }),
  }
}
