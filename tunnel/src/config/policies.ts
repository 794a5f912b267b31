/** Reads the settings of policies. */

import type { ScrubSettings } from '../policy/scrub.ts'
import type { StormSettings } from '../policy/storm/storms.ts'
import { readScrubRules } from './scrub-rules.ts'
import type { SettingsReader } from './settings-reader.ts'

export function readScrub(settings: SettingsReader): ScrubSettings | undefined {
  const level = settings.read('SCRUB')
  const mode = settings.read('SCRUB_MODE')
  const attachments = settings.read('SCRUB_ATTACHMENTS')
  const rules = settings.read('SCRUB_RULES')
  const selected = rules ? readScrubRules(rules, settings.problems) : []
  if (level !== 'off') return { level, mode, attachments, selected }
  if (rules) settings.problems.push(`SCRUB_RULES: "${rules}" needs scrubbing; set SCRUB to default or strict`)
  return undefined
}

export function readStorm(settings: SettingsReader): StormSettings {
  return { limit: settings.read('STORM_LIMIT'), mode: settings.read('STORM_MODE') }
}
