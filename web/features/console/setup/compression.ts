/** Compression towards the servers of the projects, as the running tunnels use it. */

import type { ReplicaStatus, UpstreamState } from 'contract/admin-api'

export type Compression = Pick<UpstreamState, 'origin'> & NonNullable<UpstreamState['compression']>

const GRAVEST = ['refused', 'untested', 'accepted'] as const

/** Returns the compression of each upstream. Of replicas that differ, one with the gravest state counts. */
export function compressionsOf(replicas: readonly { status?: ReplicaStatus | undefined }[]): Compression[] {
  const all = replicas.flatMap(({ status }) =>
    (status?.upstreams ?? []).flatMap(({ origin, compression }) =>
      compression ? [{ origin, ...compression }] : [],
    ),
  )
  const ranked = all.toSorted((a, b) => GRAVEST.indexOf(a.state) - GRAVEST.indexOf(b.state))
  return ranked.filter(({ origin }, at) => ranked.findIndex((each) => each.origin === origin) === at)
}

/** Describes the compression for a project, named `host/project`; `undefined` when it is off or the server is unknown. */
export function describeCompression(
  compressions: readonly Compression[],
  project: string,
): string | undefined {
  const found = compressions.find(({ origin }) => project.startsWith(`${new URL(origin).host}/`))
  if (!found) return undefined
  const { encoding, state } = found
  if (state === 'accepted') return `This server accepts envelopes in ${encoding}, as UPSTREAM_ENCODING says.`
  if (state === 'refused')
    return `This server does not accept ${encoding}, so it gets envelopes uncompressed. Set UPSTREAM_ENCODING to ${encoding === 'zstd' ? 'gzip or ' : ''}off.`
  return encoding === 'zstd'
    ? 'UPSTREAM_ENCODING is zstd. Culvert tests it after the first accepted envelope; until then, envelopes leave uncompressed.'
    : 'UPSTREAM_ENCODING is gzip. The first envelope of at least 1 KiB tests it.'
}
