/** Entries of DSNs that are no longer configured: delivered to another DSN of the same project, or named to the operator. */

import { INBOX_DSN } from 'contract/dsn'
import { isMirrorKey, type Project, type Projects } from '../../pipeline/projects.ts'
import type { Spool } from '../../pipeline/spool.ts'

type FormerProjectsDeps = {
  spool: Pick<Spool, 'totals'>
  projects: Projects
  /** Receives messages for the operator. */
  onNotice: (notice: string) => void
}

const MAX_WARNINGS = 10

export class FormerProjects {
  readonly #deps: FormerProjectsDeps
  /** Former DSNs of each project that have entries. */
  #keys = new Map<Project, string[]>()
  #warnings: string[] = []
  readonly #noticed = new Set<string>()

  constructor(deps: FormerProjectsDeps) {
    this.#deps = deps
  }

  /** Returns the former DSNs whose entries are delivered to a project. */
  keysOf(project: Project): readonly string[] {
    return this.#keys.get(project) ?? []
  }

  /** Names the entries that are for no configured project, with a remedy. */
  warnings(): readonly string[] {
    return this.#warnings
  }

  /** Looks for entries of DSNs that are not configured. Tells the operator of each DSN once. */
  async look(): Promise<void> {
    const { spool, projects, onNotice } = this.#deps
    const { partitions } = await spool.totals()
    const former = Map.groupBy(
      partitions.filter(({ project }) => !projects.byKey(project)),
      ({ project }) => project,
    )
    const keys = new Map<Project, string[]>()
    const warnings: string[] = []
    for (const [key, all] of former) {
      const envelopes = all.reduce((sum, each) => sum + each.envelopes, 0)
      const successor = projects.successorOf(key)
      if (successor) keys.set(successor, [...(keys.get(successor) ?? []), key])
      const notice = successor
        ? `The spool has envelopes of a former ${isMirrorKey(key) ? 'mirror' : 'DSN'} of ${successor.name}. They are delivered with its current DSN`
        : describeStranded(key, projects.nameOf(key), envelopes)
      if (!successor) warnings.push(notice)
      if (this.#noticed.has(key)) continue
      this.#noticed.add(key)
      onNotice(notice)
    }
    this.#keys = keys
    this.#warnings = warnings.slice(0, MAX_WARNINGS)
  }
}

function describeStranded(key: string, name: string, envelopes: number): string {
  const many = envelopes === 1 ? '1 envelope' : `${envelopes} envelopes`
  if (key === INBOX_DSN)
    return `The spool has ${many} for the inbox. Without SENTRY_DSN, Culvert delivers them; purge them on the page Spool of the console, or they expire after SPOOL_HOURS.`
  const [owner, remedy] = isMirrorKey(key)
    ? ['a mirror that MIRROR_DSN does not list', 'add it to MIRROR_DSN again']
    : ['a project that SENTRY_DSN does not list', 'add a DSN of this project to SENTRY_DSN']
  return `The spool has ${many} of ${name}, ${owner}. Culvert cannot deliver them: ${remedy}, or purge them on the page Spool of the console. Otherwise they expire after SPOOL_HOURS.`
}
