/** Reads the limits of `DAILY_QUOTA` and `HOURLY_QUOTA`. */

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

/**
 * Reads limits like `error=50000,replay=500,456:error=1000`, separated by commas or white space. `projects` are the numbers of the
 * configured projects, if there are any.
 */
export function parseQuota(
  given: string,
  projects?: ReadonlySet<string>,
): { limits: QuotaLimit[]; problems: Problem[] } {
  const limits: QuotaLimit[] = []
  const problems: Problem[] = []
  for (const { 0: text, index } of given.matchAll(/[^\s,]+/g)) {
    const parsed = parseLimit(text, limits, projects)
    if (typeof parsed !== 'string') limits.push(parsed)
    else {
      const before = given.slice(0, index).split('\n')
      problems.push({ text, line: before.length, column: (before.at(-1) ?? '').length + 1, message: parsed })
    }
  }
  return { limits, problems }
}

/** Returns the message of a problem instead. */
function parseLimit(
  text: string,
  known: readonly QuotaLimit[],
  projects: ReadonlySet<string> | undefined,
): QuotaLimit | string {
  const [, project, category = '', number = ''] = /^(?:(\d{1,20}):)?([a-z_]+)=(\d{1,13})$/.exec(text) ?? []
  if (category === '') return 'is not a quota'
  if (!CATEGORY_NAMES.has(category))
    return `names no data category of Sentry (${[...CATEGORY_NAMES].sort().join(', ')})`
  if (project !== undefined && projects?.has(project) === false)
    return 'names a project that is not in SENTRY_DSN'
  const limit = Number(number)
  if (limit === 0 || limit > MAX_LIMIT) return `is not between 1 and ${MAX_LIMIT}`
  if (known.some((other) => other.category === category && other.project === project))
    return 'is the second quota of this category'
  return { category, limit, ...(project !== undefined && { project }) }
}

/** Returns the limits of a project by category. `project` is `host/project`. */
export function limitsOf(limits: readonly QuotaLimit[], project: string): ReadonlyMap<string, number> {
  const id = project.slice(project.lastIndexOf('/') + 1)
  const own = limits.filter((limit) => limit.project === id)
  const general = limits.filter((limit) => limit.project === undefined)
  return new Map([...general, ...own].map(({ category, limit }) => [category, limit]))
}
