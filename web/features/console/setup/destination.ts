/** Destination of the reports: the inbox, or the project of a DSN. */

import { INBOX, INBOX_DSN, parseDsn, readDsns } from 'tunnel/dsn'
import { projectName, publicDsn } from '../projects/snippets.ts'

export type Destination = {
  /** DSN for the SDK. */
  dsn: string
  /** `host/project`, as receipts name it. */
  project: string
  /** Lines to add to `.env`; empty when Culvert has this destination already. */
  lines: string
}

/** Returns the destination, or the problem with the DSN in a sentence. Both are absent while no DSN is given. */
export function readDestination(
  kind: 'inbox' | 'sentry',
  text: string,
  configured: readonly string[],
): { destination?: Destination; problem?: string } {
  const forwarded = configured.filter((dsn) => dsn !== INBOX_DSN)
  if (kind === 'inbox')
    return {
      destination: {
        ...{ dsn: INBOX_DSN, project: projectName(INBOX) },
        lines: forwarded.length > 0 ? 'SENTRY_DSN=' : '',
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
      lines: forwarded.includes(dsn) ? '' : `SENTRY_DSN=${[...forwarded, dsn].join(',')}`,
    },
  }
}
