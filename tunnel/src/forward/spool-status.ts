/** Status of the spool: pending entries by project and category, bounds, delivery attempts. */

import type { SpoolDepth, SpoolPartition, SpoolPause, SpoolStatus } from 'contract/spool'
import { isMirrorKey, type Projects } from '../pipeline/projects.ts'
import type { PartitionTotals, Pause, SpoolDescription, SpoolDisk, SpoolTotals } from '../pipeline/spool.ts'
import type { Deliverer } from './delivery/delivery.ts'
import type { MonitoredSpool } from './monitored-spool.ts'

/** State that the status of a spool is read from. */
type SpoolState = {
  spool: MonitoredSpool
  /** Share of the spool's bytes that one project may fill. */
  projectShare: number
  deliverer: Deliverer
}

const NO_CATEGORY = 'none'

/** Describes the spool. Leaves totals out, and adds `problem`, when the disk or the server is slow or fails. */
export async function describeSpool(
  { spool, projectShare, deliverer }: SpoolState,
  projects: Projects,
  ageMs: number,
): Promise<SpoolStatus> {
  const description = await spool.store.describe()
  const { maxBytes, durability, disk } = description
  const known = {
    ...describeDisk(disk),
    id: spool.store.id,
    ...spool.health(),
    durability,
    max_age_ms: ageMs,
    max_bytes: maxBytes,
    project_max_bytes: Math.floor(maxBytes * projectShare),
    attempts: deliverer.attempts(),
  }
  try {
    return { ...known, ...(await describeDepth(spool, projects, description)) }
  } catch (error) {
    return { ...known, problem: error instanceof Error ? error.message : 'unknown error' }
  }
}

function describeDisk(disk: SpoolDisk | undefined): Partial<SpoolStatus> {
  if (!disk) return {}
  const { freeBytes, walBytes, damagedFiles, problem } = disk
  return {
    disk_free_bytes: freeBytes,
    wal_bytes: walBytes,
    damaged_files: damagedFiles,
    ...(problem !== undefined && { problem }),
  }
}

async function describeDepth(
  spool: MonitoredSpool,
  projects: Projects,
  description: SpoolDescription,
): Promise<SpoolDepth> {
  const totals = await spool.totals()
  const { partitions: byProject, paused, ...all } = withoutMirrors(totals)
  const seconds = spool.secondsUntilFull(all.bytes, description)
  const mirrors = byNames(
    totals.partitions.filter(({ project }) => isMirrorKey(project)),
    projects,
  )
  return {
    ...all,
    ...(seconds !== undefined && { full_in_seconds: Math.round(seconds) }),
    partitions: byNames(byProject, projects),
    ...(mirrors.length > 0 && { mirrors }),
    paused: showPauses(paused, projects),
  }
}

/** Leaves out the entries for mirrors, which no outcome `spooled` has counted. The bytes are those of all entries, as the bound is. */
export function withoutMirrors(totals: SpoolTotals): SpoolTotals {
  const partitions = totals.partitions.filter(({ project }) => !isMirrorKey(project))
  if (partitions.length === totals.partitions.length) return totals
  const { oldest: _, ...others } = totals
  const times = partitions.flatMap(({ oldest }) => oldest ?? [])
  return {
    ...others,
    envelopes: partitions.reduce((sum, { envelopes }) => sum + envelopes, 0),
    ...(times.length > 0 && { oldest: Math.min(...times) }),
    partitions,
  }
}

/** Lists pauses by project name. Two keys of one project are one pause. */
export function showPauses(paused: readonly Pause[], projects: Projects): SpoolPause[] {
  const byName = new Map<string | undefined, SpoolPause>()
  for (const { project: key, since } of paused) {
    const project = key === undefined ? undefined : projects.nameOf(key)
    if (!byName.has(project)) byName.set(project, { ...(project !== undefined && { project }), since })
  }
  return [...byName.values()]
}

/** Combines the partitions of several keys of one project. */
function byNames(partitions: readonly PartitionTotals[], projects: Projects): SpoolPartition[] {
  const byName = new Map<string, SpoolPartition>()
  for (const { project: key, category: own, envelopes, bytes, oldest } of partitions) {
    const [project, category] = [projects.nameOf(key), showCategory(own)]
    const name = `${project} ${category}`
    const same = byName.get(name) ?? { project, category, envelopes: 0, bytes: 0 }
    const ages = [same.oldest, oldest].filter((time) => time !== undefined)
    byName.set(name, {
      project,
      category,
      envelopes: same.envelopes + envelopes,
      bytes: same.bytes + bytes,
      ...(ages.length > 0 && { oldest: Math.min(...ages) }),
    })
  }
  return [...byName.values()]
}

export function showCategory(category: string): string {
  return category || NO_CATEGORY
}

export function readCategory(shown: string): string {
  return shown === NO_CATEGORY ? '' : shown
}
