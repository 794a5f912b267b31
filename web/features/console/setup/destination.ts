/** Destination of the reports: the inbox, or the project of a DSN. */

import { INBOX, INBOX_DSN, parseDsn, readDsns } from 'contract/dsn'
import type { DsnPlace } from '../../../lib/config.ts'
import { projectName, publicDsn } from '../projects/snippets.ts'

export type Destination = {
  /** DSN for the SDK. */
  dsn: string
  /** `host/project`, as receipts name it. */
  project: string
  /** Line for `.env`, or DSNs for the file that SENTRY_DSN_FILE names; empty when Culvert has this destination already. */
  lines: string
}

const PREFIX = { '.env': 'SENTRY_DSN=', SENTRY_DSN_FILE: '' } as const

type Configured = { configured: readonly string[]; dsnPlace: DsnPlace }

/** Returns the destination, or the problem with the DSN in a sentence. Both are absent while no DSN is given. */
export function readDestination(
  kind: 'inbox' | 'sentry',
  text: string,
  { configured, dsnPlace }: Configured,
): { destination?: Destination; problem?: string } {
  const forwarded = configured.filter((dsn) => dsn !== INBOX_DSN)
  if (kind === 'inbox')
    return {
      destination: {
        ...{ dsn: INBOX_DSN, project: projectName(INBOX) },
        lines: forwarded.length > 0 ? PREFIX[dsnPlace] || 'SENTRY_DSN_FILE=' : '',
      },
    }
  const given = text.trim()
  if (given === '') return {}
  const problems: string[] = []
  readDsns(given, problems)
  const parsed = parseDsn(given)
  const dsn = publicDsn(given)
  if (!parsed || dsn === undefined)
    return { problem: problems[0] ?? 'Paste one DSN here. SENTRY_DSN may list several, separated by commas.' }
  return {
    destination: {
      ...{ dsn, project: projectName(parsed) },
      lines: forwarded.includes(dsn) ? '' : `${PREFIX[dsnPlace]}${[...forwarded, dsn].join(',')}`,
    },
  }
}
