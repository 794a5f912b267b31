/** Prometheus metrics of the spool. Replicas report the same spool: take the maximum by `spool_id`. */

import { CATEGORY_NAMES } from 'contract/categories'
import type { SpoolPartition, SpoolStatus } from 'contract/spool'
import type { Projects } from '../pipeline/projects.ts'
import { counter, gauge, type Metric, type Read } from './exposition.ts'

type SpoolMetricsDeps = {
  projects: Projects
  /** Milliseconds since 1970. */
  now: () => number
}

/** Label values are closed sets: configured projects and Sentry's categories. Everything else is `unknown`. */
export function listSpoolMetrics(deps: SpoolMetricsDeps): Metric[] {
  return [...listTotals(deps), ...listPartitions(deps), ...listState(deps)]
}

function listTotals({ now }: SpoolMetricsDeps): Metric[] {
  return [
    total('envelopes', 'Pending envelopes, without those for mirrors.', ({ envelopes }) => envelopes),
    total('bytes', 'Bytes of pending envelopes, with those for mirrors.', ({ bytes }) => bytes),
    total('max_bytes', 'Limit of the bytes of pending envelopes.', (spool) => spool.max_bytes),
    total('oldest_entry_age_seconds', 'Age of the oldest pending envelope.', ({ envelopes, oldest }) =>
      envelopes === undefined ? undefined : ageOf(oldest, now()),
    ),
    total('max_age_seconds', 'Age at which a pending envelope expires.', (spool) => spool.max_age_ms / 1000),
    total(
      'disk_free_bytes',
      'Free bytes on the disk of the spool; absent when it is no file.',
      (spool) => spool.disk_free_bytes,
    ),
    total(
      'wal_bytes',
      'Length of the write-ahead log; absent when the spool is no file.',
      (spool) => spool.wal_bytes,
    ),
    total(
      'damaged_files',
      'Spool files that were set aside because they were damaged; absent when the spool is no file.',
      (spool) => spool.damaged_files?.length,
    ),
    total(
      'full_in_seconds',
      'Estimated seconds until the limit or the disk is full, at the rate of the last minutes. Absent while neither fills up.',
      (spool) => spool.full_in_seconds,
    ),
  ]
}

function listPartitions({ projects, now }: SpoolMetricsDeps): Metric[] {
  const names = namesOf(projects)
  const mirrors = [...new Set(projects.mirrors.map(({ target }) => target.name))]
  type ReadPartitions = (all: readonly SpoolPartition[]) => number
  const byPartition = (name: string, help: string, read: ReadPartitions) =>
    ofSpool(name, ['project', 'category'], help, (spool) =>
      groupPartitions(spool, names).map(([labels, all]) => ({ labels, value: read(all) })),
    )
  /** Returns a series for each configured mirror, if the spool responds. */
  const byMirror = (name: string, help: string, read: ReadPartitions) =>
    ofSpool(name, ['mirror'], help, (spool) =>
      (spool.envelopes === undefined ? [] : mirrors).map((mirror) => ({
        labels: { mirror },
        value: read((spool.mirrors ?? []).filter(({ project }) => project === mirror)),
      })),
    )
  const envelopesOf = (all: readonly SpoolPartition[]) => sumOf(all, ({ envelopes }) => envelopes)
  const bytesOf = (all: readonly SpoolPartition[]) => sumOf(all, ({ bytes }) => bytes)
  const maxAgeOf = (all: readonly SpoolPartition[]) =>
    Math.max(0, ...all.map(({ oldest }) => ageOf(oldest, now())))
  return [
    byPartition('project_envelopes', 'Pending envelopes by project and category.', envelopesOf),
    byPartition('project_bytes', 'Bytes of pending envelopes by project and category.', bytesOf),
    byPartition(
      'project_oldest_entry_age_seconds',
      'Age of the oldest pending envelope by project and category.',
      maxAgeOf,
    ),
    byMirror('mirror_envelopes', 'Pending envelopes by mirror.', envelopesOf),
    byMirror('mirror_oldest_entry_age_seconds', 'Age of the oldest pending envelope by mirror.', maxAgeOf),
  ]
}

function listState({ projects }: SpoolMetricsDeps): Metric[] {
  const names = namesOf(projects)
  return [
    ofSpool(
      'paused',
      ['project'],
      '1 while an operator has paused the delivery of a project, or of all projects.',
      ({ paused = [] }) =>
        Array.from(names, (project) => ({
          labels: { project },
          value: Number(paused.some((pause) => pause.project === undefined || pause.project === project)),
        })),
    ),
    gauge('culvert_spool_writable', [], '1 while the spool accepts new entries.', ({ writable }) => [
      { value: Number(writable) },
    ]),
    counter(
      'culvert_spool_lost_envelopes_total',
      [],
      'Acknowledged envelopes that NATS lost, as far as this replica noticed.',
      ({ lost = 0 }) => [{ value: lost }],
    ),
    counter(
      'culvert_spool_delivery_attempts_total',
      ['result', 'project'],
      'Delivery attempts from the spool by result. `undecided` (no final response from Sentry) is retried.',
      ({ attempts }) =>
        attempts.map(({ result, project, attempts: value }) => ({ labels: { result, project }, value })),
    ),
  ]
}

function namesOf({ all }: Projects): Set<string> {
  return new Set(all.map(({ name }) => name))
}

/** Returns seconds. */
function ageOf(oldest: number | undefined, now: number): number {
  return oldest === undefined ? 0 : (now - oldest) / 1000
}

function total(name: string, help: string, read: (spool: SpoolStatus) => number | undefined): Metric {
  return ofSpool(name, [], help, (spool) => {
    const value = read(spool)
    return value === undefined ? [] : [{ value }]
  })
}

function ofSpool<Label extends string>(
  name: string,
  labels: readonly Label[],
  help: string,
  read: Read<Label>,
): Metric {
  return gauge<string>(`culvert_spool_${name}`, ['spool_id', ...labels], help, (spool) =>
    read(spool).map(({ labels: own, value }) => ({ labels: { spool_id: spool.id, ...own }, value })),
  )
}

/** Returns the partitions that have the same labels. */
function groupPartitions(
  { partitions = [] }: SpoolStatus,
  projects: ReadonlySet<string>,
): [labels: { project: string; category: string }, SpoolPartition[]][] {
  const groups = Map.groupBy(partitions, ({ project, category }) =>
    [projects.has(project) ? project : 'unknown', isCategory(category) ? category : 'unknown'].join(' '),
  )
  return Array.from(groups, ([name, group]) => {
    const [project = '', category = ''] = name.split(' ')
    return [{ project, category }, group]
  })
}

function isCategory(category: string): boolean {
  return category === 'none' || CATEGORY_NAMES.has(category)
}

function sumOf(all: readonly SpoolPartition[], read: (partition: SpoolPartition) => number): number {
  return all.reduce((sum, each) => sum + read(each), 0)
}
