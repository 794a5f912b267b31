/** Reads settings from an environment by the table in `settings.ts`. */

import { readFileSync } from 'node:fs'
import type { Setting } from './settings/declarations.ts'
import { type Environment, rowOf, type SettingName, type SettingValue } from './settings.ts'

/** Settings in force by name, as an operator writes them and without secrets. */
export type ShownSettings = { readonly [name in SettingName]?: string }

/** Shown for a setting without a value. */
export const NONE = '–'

/**
 * Reads settings by name. Appends each problem to `problems` as `NAME: "value" problem; remedy`, and a default takes its place, so that
 * one start lists every problem. Keeps what it has read, for display.
 */
export class SettingsReader {
  readonly problems: string[]
  readonly shown: { [name in SettingName]?: string } = {}
  /** Settings that were read from the file that `NAME_FILE` names. */
  readonly fromFile: SettingName[] = []
  readonly #env: Environment

  constructor(env: Environment, problems: string[]) {
    this.#env = env
    this.problems = problems
  }

  /** `byDefault` takes the place of the table's default where that depends on other settings. */
  read<Name extends SettingName>(name: Name, byDefault?: SettingValue<Name>): SettingValue<Name> {
    const setting = rowOf(name)
    const given = this.#text(name, setting)
    const found: string[] = []
    const parsed = given ? setting.parse(given, name, found) : undefined
    this.problems.push(...found.filter((problem) => !this.problems.includes(problem))) // some are read twice
    const value = parsed ?? byDefault ?? setting.default
    this.shown[name] = formatSetting(setting, value)
    return value as SettingValue<Name> // the table pairs each name with a parser of this type
  }

  #text(name: SettingName, { hasFile, isFileOptional, isProxy }: Setting): string | undefined {
    if (hasFile && !this.#env[name] && this.#env[`${name}_FILE`]) this.fromFile.push(name)
    if (hasFile) return readSecret(this.#env, name, this.problems, isFileOptional)
    return (isProxy ? (this.#env[name.toLowerCase()] ?? this.#env[name]) : this.#env[name])?.trim()
  }
}

/** Formats a value as in the environment; a dash stands for none. */
export function formatSetting({ secret, format }: Setting, value: unknown): string {
  if (value === undefined || value === '') return NONE
  if (secret) return '…'
  return (format ? format(value) : String(value)) || NONE
}

export type SharedSettings = {
  /** Paths that accept envelopes, the one for new pages first, with a leading slash and no trailing one. */
  tunnelPaths: string[]
  /** Also accepts the paths that v11 SDKs derive from a DSN. */
  derivedPaths: boolean
  /** Networks whose `X-Forwarded-For` nginx trusts, as CIDRs or single addresses. */
  trustedProxies: string[]
  /** Size of the largest envelope in bytes, compressed and unpacked. */
  maxEnvelopeBytes: number
}

/** Reads the settings that nginx, web and the tunnel share. */
export function readSharedSettings(settings: SettingsReader): SharedSettings {
  return {
    tunnelPaths: settings.read('TUNNEL_PATHS'),
    derivedPaths: settings.read('DERIVED_PATHS'),
    trustedProxies: settings.read('TRUSTED_PROXIES'),
    maxEnvelopeBytes: settings.read('MAX_ENVELOPE_BYTES'),
  }
}

export type PageSettings = {
  /** Address of the operator's app as `host:port`; absent: web serves all pages. */
  app: string | undefined
  /** Path of the connection check. */
  checkPath: string
}

/** Reads the setting by which nginx and web divide the paths other than those of the tunnel between web and an app. */
export function readPageSettings(settings: SettingsReader): PageSettings {
  const app = settings.read('APP_URL')
  return { app, checkPath: app ? '/console/check' : '/' }
}

/** Reads a secret from its variable, or from the file that `NAME_FILE` names, as Docker hands over secrets. An optional file is a default: Compose always names it. */
function readSecret(
  env: Environment,
  name: string,
  problems: string[],
  isOptional = false,
): string | undefined {
  const file = env[`${name}_FILE`]
  if (env[name] && file && !isOptional)
    problems.push(`${name}: ${name}_FILE is set too; set only one of them`)
  if (env[name] || !file) return env[name] || undefined
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch (error) {
    if (isOptional && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    problems.push(
      `${name}_FILE: "${file}" cannot be read; write the path of a file that this process may read`,
    )
    return undefined
  }
}
