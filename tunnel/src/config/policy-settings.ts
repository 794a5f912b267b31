/** Reads the settings of policies. */

import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readAdminToken } from 'contract/admin-token'
import type { Dsn } from 'contract/dsn'
import type { SettingsReader } from 'contract/settings-reader'
import { parseQuota, type QuotaLimit, type QuotaSettings } from '../policy/quota/settings.ts'
import { FileProblem } from '../policy/scrub/located-json.ts'
import { readRulesFile } from '../policy/scrub/rules-file.ts'
import type { ScrubSettings } from '../policy/scrub.ts'
import type { StormSettings } from '../policy/storms.ts'

export function readScrub(settings: SettingsReader): ScrubSettings | undefined {
  const level = settings.read('SCRUB')
  const mode = settings.read('SCRUB_MODE')
  const attachments = settings.read('SCRUB_ATTACHMENTS')
  const rules = settings.read('SCRUB_RULES')
  const selected = rules ? readScrubRules(rules, settings.problems) : []
  const users = readUsers(settings)
  if (level !== 'off') return { level, mode, attachments, selected, users }
  if (users.kind === 'hash')
    settings.problems.push('SCRUB_USERS: "pseudonym" needs scrubbing; set SCRUB to default or strict')
  if (rules) settings.problems.push(`SCRUB_RULES: "${rules}" needs scrubbing; set SCRUB to default or strict`)
  return undefined
}

/** Derives the key of pseudonyms from the secret that all replicas share. */
function readUsers(settings: SettingsReader): ScrubSettings['users'] {
  if (settings.read('SCRUB_USERS') === 'remove') return { kind: 'remove' }
  const secret = readAdminToken(settings)
  if (secret === undefined)
    settings.problems.push(
      'SCRUB_USERS: "pseudonym" needs a secret that all replicas share; set OPERATOR_PASSWORD or ADMIN_TOKEN',
    )
  return {
    kind: 'hash',
    key: createHmac('sha256', secret ?? '')
      .update('culvert pseudonyms')
      .digest('hex'),
  }
}

/** Returns no rules for a file with a problem, whose place the problem names. */
function readScrubRules(path: string, problems: string[]): ScrubSettings['selected'] {
  try {
    return readRulesFile(readFileSync(path))
  } catch (error) {
    const problem =
      error instanceof FileProblem
        ? `${error.message}; docs/privacy.md describes the format`
        : 'cannot be read; write the path of a file that this process may read'
    problems.push(`SCRUB_RULES: "${path}" ${problem}`)
    return []
  }
}

/** `dsns` are those of `SENTRY_DSN`; empty in inbox mode. */
export function readQuota(settings: SettingsReader, dsns: readonly Dsn[]): QuotaSettings {
  const projects = dsns.length > 0 ? new Set(dsns.map(({ projectId }) => projectId)) : undefined
  const day = readLimits(settings, 'DAILY_QUOTA', projects)
  const hour = readLimits(settings, 'HOURLY_QUOTA', projects)
  return { limits: { day, hour }, mode: settings.read('QUOTA_MODE') }
}

function readLimits(
  settings: SettingsReader,
  name: 'DAILY_QUOTA' | 'HOURLY_QUOTA',
  projects: ReadonlySet<string> | undefined,
): QuotaLimit[] {
  const { limits, problems } = parseQuota(settings.read(name) ?? '', projects)
  for (const { text, line, column, message } of problems)
    settings.problems.push(
      `${name}: "${text}" (line ${line}, column ${column}) ${message}; write limits like error=50000,transaction=100000`,
    )
  return limits
}

export function readStorm(settings: SettingsReader): StormSettings {
  const mode = settings.read('STORM_MODE')
  return { limit: settings.read('STORM_LIMIT'), mode, reading: mode === 'enforce' ? 'all' : 'sample' }
}
