/** Destination of the reports: the inbox, or the project of a DSN, with the compression of the way there. */

import type { ReplicaStatus } from 'contract/admin-api'
import { INBOX, INBOX_DSN, parseDsn, readDsns } from 'contract/dsn'
import type { UpstreamState } from 'contract/upstream'
import type { DsnPlace } from '../../../lib/config.ts'
import { projectName, publicDsn } from '../projects/snippets.ts'

export type Destination = {
  /** DSN for the SDK. */
  dsn: string
  /** `host/project`, as receipts name it. */
  project: string
  /**
   * Line for `.env`, or DSNs for the file that SENTRY_DSN_FILE names; empty when Culvert has this destination already. Absent while the DSNs
   * in force are not known: it would remove them.
   */
  lines?: string
}

const PREFIX = { '.env': 'SENTRY_DSN=', SENTRY_DSN_FILE: '' } as const

/** `configured` is absent while no tunnel responds. */
type Configured = { configured: readonly string[] | undefined; dsnPlace: DsnPlace }

/** Returns the destination, or the problem with the DSN in a sentence. Both are absent while no DSN is given. */
export function readDestination(
  kind: 'inbox' | 'sentry',
  text: string,
  { configured, dsnPlace }: Configured,
): { destination?: Destination; problem?: string } {
  const forwarded = configured?.filter((dsn) => dsn !== INBOX_DSN)
  if (kind === 'inbox')
    return {
      destination: {
        ...{ dsn: INBOX_DSN, project: projectName(INBOX) },
        ...(forwarded && { lines: forwarded.length > 0 ? PREFIX[dsnPlace] || 'SENTRY_DSN_FILE=' : '' }),
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
      ...(forwarded && {
        lines: forwarded.includes(dsn) ? '' : `${PREFIX[dsnPlace]}${[...forwarded, dsn].join(',')}`,
      }),
    },
  }
}

export type Compression = Pick<UpstreamState, 'origin'> & NonNullable<UpstreamState['compression']>

/** Returns the compression of each upstream. Of replicas that differ, one whose encoding was refused counts. */
export function compressionsOf(replicas: readonly { status?: ReplicaStatus | undefined }[]): Compression[] {
  const all = replicas.flatMap(({ status }) =>
    (status?.upstreams ?? []).flatMap(({ origin, compression }) =>
      compression ? [{ origin, ...compression }] : [],
    ),
  )
  const ranked = all.toSorted((a, b) => Number(b.is_refused) - Number(a.is_refused))
  return ranked.filter(({ origin }, at) => ranked.findIndex((each) => each.origin === origin) === at)
}

/** Describes the compression for a project, named `host/project`; `undefined` when it is off or the server is unknown. */
export function describeCompression(
  compressions: readonly Compression[],
  project: string,
): string | undefined {
  const found = compressions.find(({ origin }) => project.startsWith(`${new URL(origin).host}/`))
  if (!found) return undefined
  const { encoding, is_refused: isRefused } = found
  return isRefused
    ? `This server does not accept ${encoding}, so it gets envelopes uncompressed. Set UPSTREAM_ENCODING to off.`
    : `This server gets envelopes of at least 1 KiB in ${encoding}, as UPSTREAM_ENCODING says.`
}
