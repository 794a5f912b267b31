/** Reads the settings of policies. */

import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { readAdminToken } from 'contract/admin-token'
import type { Dsn } from 'contract/dsn'
import type { ScrubChoice } from 'contract/settings/parsers'
import type { SettingsReader } from 'contract/settings-reader'
import { parseQuota, type QuotaSettings } from '../policy/quota/settings.ts'
import type { ScrubSettings } from '../policy/scrub/scrub.ts'

export function readScrub(settings: SettingsReader): ScrubSettings | undefined {
  const { level, users, ...choice } = settings.read('SCRUB')
  const rules = settings.read('SCRUB_RULES')
  const selected = rules ? readScrubRules(rules, settings.problems) : []
  if (level !== 'off') return { ...choice, level, selected, users: readUsers(users, settings) }
  if (rules) settings.problems.push(`SCRUB_RULES: "${rules}" needs scrubbing; set SCRUB to default or strict`)
  return undefined
}

/** Derives the key of pseudonyms from the secret that all replicas share. */
function readUsers(users: ScrubChoice['users'], settings: SettingsReader): ScrubSettings['users'] {
  if (users === 'remove') return { kind: 'remove' }
  const secret = readAdminToken(settings)
  if (secret === undefined)
    settings.problems.push(
      'SCRUB: "pseudonyms" need a secret that all replicas share; set OPERATOR_PASSWORD or ADMIN_TOKEN',
    )
  return {
    kind: 'hash',
    key: createHmac('sha256', secret ?? '')
      .update('culvert pseudonyms')
      .digest('hex'),
  }
}

/** Parses a file of rules. Loads the parser, and with it the detectors, which only scrubbing needs. */
function parseRules(file: Buffer): ScrubSettings['selected'] {
  const parser: typeof import('../policy/scrub/rules-file.ts') = createRequire(import.meta.url)(
    '../policy/scrub/rules-file.ts',
  )
  return parser.readRulesFile(file)
}

/** Returns no rules for a file with a problem, whose place the problem names. */
function readScrubRules(path: string, problems: string[]): ScrubSettings['selected'] {
  try {
    return parseRules(readFileSync(path))
  } catch (error) {
    const problem =
      error instanceof Error && error.name === 'FileProblem'
        ? `${error.message}; docs/privacy.md describes the format`
        : 'cannot be read; write the path of a file that this process may read'
    problems.push(`SCRUB_RULES: "${path}" ${problem}`)
    return []
  }
}

/** `dsns` are those of `SENTRY_DSN`; empty in inbox mode. */
export function readQuota(settings: SettingsReader, dsns: readonly Dsn[]): QuotaSettings {
  const projects = dsns.length > 0 ? new Set(dsns.map(({ projectId }) => projectId)) : undefined
  const { problems, ...quota } = parseQuota(settings.read('QUOTA') ?? '', projects)
  for (const { text, line, column, message } of problems)
    settings.problems.push(
      `QUOTA: "${text}" (line ${line}, column ${column}) ${message}; write limits like error=50000/day,transaction=10000/hour`,
    )
  return quota
}
