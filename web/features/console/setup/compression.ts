/** Compression towards the servers of the projects, as the running tunnels use it. */

import type { ReplicaStatus, UpstreamState } from 'contract/admin-api'

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
