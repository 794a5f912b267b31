/**
 * Table of all settings. Parsing, `npm run config`, the hints for misspelt names, the settings of `/status` and
 * `docs/configuration.md` derive from it.
 */

import type { Row, Setting } from './settings/declarations.ts'
import { DEPLOYMENT } from './settings/deployment-settings.ts'
import { PROCESS, PROCESSES } from './settings/processes.ts'
import { SHARED } from './settings/shared-settings.ts'
import { TUNNEL } from './settings/tunnel-settings.ts'
import { WEB } from './settings/web-settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** All settings, by section. */
export const SETTINGS = { ...SHARED, ...WEB, ...TUNNEL, ...DEPLOYMENT, ...PROCESS }

export type SettingName = keyof typeof SETTINGS

/** Title of the settings that most deployments change, and their names. `npm run config` and `docs/configuration.md` begin with them. */
export const ESSENTIALS = 'The ten that matter'
const ESSENTIAL: readonly SettingName[] = [
  ...(['SENTRY_DSN', 'TUNNEL_PATHS', 'OPERATOR_PASSWORD', 'TRUSTED_PROXIES', 'ALLOWED_ORIGINS'] as const),
  ...(['HTTP_PORT', 'SPOOL_URL', 'ADDRESS_RATE', 'FILTERS', 'LOG_LEVEL'] as const),
]

/** Returns the titles of the sections, each with the names of its settings. */
export function listSections(): { title: string; names: readonly SettingName[] }[] {
  const others = SETTING_NAMES.filter((name) => !ESSENTIAL.includes(name))
  const titles = [...new Set(others.map((name) => rowOf(name).section))]
  return [
    { title: ESSENTIALS, names: ESSENTIAL },
    ...titles.map((title) => ({ title, names: others.filter((name) => rowOf(name).section === title) })),
  ]
}

/** Returns the row of a setting, without its types. */
export function rowOf(name: SettingName): Setting {
  return SETTINGS[name]
}

/** Parsed value of a setting, or its default. */
export type SettingValue<Name extends SettingName> =
  (typeof SETTINGS)[Name] extends Row<infer T, infer D> ? (undefined extends D ? T | undefined : T) : never

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[]

/** Names of the settings in the last section, which the images, Compose and `npm start` set themselves. */
export const CHOSEN_NAMES = SETTING_NAMES.filter((name) => SETTINGS[name].section === PROCESSES)
