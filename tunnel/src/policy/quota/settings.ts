/** Reads the limits of `QUOTA`. */

import { CATEGORY_NAMES } from 'contract/categories'
import type { PolicyMode, QuotaPeriod } from 'contract/policies'

/** Limit of one data category, for one project or for each. */
export type QuotaLimit = {
  category: string
  limit: number
  /** Number of the project in its DSN; absent for a limit of every project without one of its own. */
  project?: string
}

export type QuotaSettings = { limits: Readonly<Record<QuotaPeriod, readonly QuotaLimit[]>>; mode: PolicyMode }

/** Problem of a value, with its line and column, both from 1. */
export type Problem = { text: string; line: number; column: number; message: string }

const MAX_LIMIT = 1_000_000_000_000

type PeriodLimit = QuotaLimit & { period: QuotaPeriod }

/**
 * Reads limits like `error=50000/day,replay=500/hour,456:error=1000/day observe`, separated by commas or white space. `projects` are the
 * numbers of the configured projects, if there are any.
 */
export function parseQuota(
  given: string,
  projects?: ReadonlySet<string>,
): QuotaSettings & { problems: Problem[] } {
  const known: PeriodLimit[] = []
  const problems: Problem[] = []
  let mode: PolicyMode = 'enforce'
  for (const { 0: text, index } of given.matchAll(/[^\s,]+/g)) {
    const parsed = text === 'observe' || text === 'enforce' ? undefined : parseLimit(text, known, projects)
    if (text === 'observe') mode = text
    if (typeof parsed === 'object') known.push(parsed)
    if (typeof parsed !== 'string') continue
    const before = given.slice(0, index).split('\n')
    problems.push({ text, line: before.length, column: (before.at(-1) ?? '').length + 1, message: parsed })
  }
  const of = (wanted: QuotaPeriod) =>
    known.filter(({ period }) => period === wanted).map(({ period: _, ...limit }) => limit)
  return { limits: { day: of('day'), hour: of('hour') }, mode, problems }
}

/** Returns the message of a problem instead. */
function parseLimit(
  text: string,
  known: readonly PeriodLimit[],
  projects: ReadonlySet<string> | undefined,
): PeriodLimit | string {
  const [, project, category = '', number = '', unit] =
    /^(?:(\d{1,20}):)?([a-z_]+)=(\d{1,13})\/(day|hour)$/.exec(text) ?? []
  if (category === '') return 'is not a quota'
  if (!CATEGORY_NAMES.has(category))
    return `names no data category of Sentry (${[...CATEGORY_NAMES].sort().join(', ')})`
  if (project !== undefined && projects?.has(project) === false)
    return 'names a project that is not in SENTRY_DSN'
  const limit = Number(number)
  if (limit === 0 || limit > MAX_LIMIT) return `is not between 1 and ${MAX_LIMIT}`
  const period: QuotaPeriod = unit === 'hour' ? 'hour' : 'day'
  if (
    known.some((other) => other.category === category && other.project === project && other.period === period)
  )
    return 'is the second quota of this category'
  return { category, limit, period, ...(project !== undefined && { project }) }
}

/** Returns the limits of a project by category. `project` is `host/project`. */
export function limitsOf(limits: readonly QuotaLimit[], project: string): ReadonlyMap<string, number> {
  const id = project.slice(project.lastIndexOf('/') + 1)
  const own = limits.filter((limit) => limit.project === id)
  const general = limits.filter((limit) => limit.project === undefined)
  return new Map([...general, ...own].map(({ category, limit }) => [category, limit]))
}
