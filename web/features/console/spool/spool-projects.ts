/** Pending envelopes of a spool by project or mirror, and those whose delivery is paused. */

import { hostOf, type UpstreamView } from 'contract/situation/upstreams'
import type { SpoolPartition, SpoolPause, SpoolStatus } from 'contract/spool'

export type SpoolProject = {
  name: string
  /** Pending envelopes of all categories. */
  pending: number
  isMirror: boolean
  isPaused: boolean
  /** Number of categories with pending envelopes. */
  categories: number
  /** Those on the page. */
  partitions: SpoolPartition[]
}

type Row = { project: string; partition?: SpoolPartition }

/** Returns the projects of a page. Each partition is a row, and so is a paused project without any. */
export function listProjects(
  { partitions = [], mirrors = [], paused = [] }: Pick<SpoolStatus, 'partitions' | 'mirrors' | 'paused'>,
  from: number,
  page: number,
): { projects: SpoolProject[]; total: number } {
  const byProject = Map.groupBy([...partitions, ...mirrors], ({ project }) => project)
  const pausedNames = new Set(paused.flatMap(({ project }) => project ?? []))
  const rows: Row[] = [
    ...[...pausedNames].filter((project) => !byProject.has(project)).map((project) => ({ project })),
    ...[...byProject].flatMap(([project, its]) => its.map((partition) => ({ project, partition }))),
  ]
  const shown = Map.groupBy(rows.slice(from, from + page), ({ project }) => project)
  const projects = [...shown].map(([name, its]) => ({
    name,
    pending: (byProject.get(name) ?? []).reduce((sum, { envelopes }) => sum + envelopes, 0),
    isMirror: mirrors.some(({ project }) => project === name),
    isPaused: pausedNames.has(name),
    categories: byProject.get(name)?.length ?? 0,
    partitions: its.flatMap(({ partition }) => partition ?? []),
  }))
  return { projects, total: rows.length }
}

/** Returns why the entries of a project wait: nothing is sent while it is paused, and only probes while the circuit breaker of its server is open. */
export function holdOf(
  project: string,
  paused: readonly SpoolPause[],
  upstreams: readonly Pick<UpstreamView, 'origin' | 'closed' | 'nextProbe'>[],
): 'paused' | { nextProbe: number } | undefined {
  if (paused.some((pause) => pause.project === undefined || pause.project === project)) return 'paused'
  const { closed = [], nextProbe } = upstreams.find(({ origin }) => hostOf(origin) === hostOf(project)) ?? {}
  return closed.length === 0 && nextProbe !== undefined ? { nextProbe } : undefined
}
