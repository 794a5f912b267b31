/** SDKs and releases that have sent envelopes lately, and unknown types of items, by project. Senders choose the names, so all are bounded. */

import type { LastSeen, ProjectSdks } from 'contract/admin-api'
import { ITEM_TYPES, type Item } from '../envelope/items.ts'
import { cut } from '../envelope/summary.ts'
import type { Projects } from '../pipeline/projects.ts'

const MAX_NAMES = 50 // SDKs, releases or types of one project
const MAX_RELEASE_LENGTH = 200 // Sentry's limit

/** Time of the last envelope, in milliseconds since 1970, and the number of items, by name. */
type Names = Map<string, { last: number; count: number }>

export class SdkInventory {
  readonly #byProject: ReadonlyMap<string, { sdks: Names; releases: Names; types: Names }>

  constructor(projects: Projects) {
    this.#byProject = new Map(
      projects.all.map(({ name }) => [name, { sdks: new Map(), releases: new Map(), types: new Map() }]),
    )
  }

  /** Notes an envelope of a verified project. `release` is the value in its header, of any type. */
  note(project: string, sdk: string | undefined, release: unknown, time: number): void {
    const names = this.#byProject.get(project)
    if (!names) return
    if (sdk !== undefined) noteName(names.sdks, sdk, time)
    if (typeof release === 'string' && release !== '')
      noteName(names.releases, cut(release, MAX_RELEASE_LENGTH), time)
  }

  /** Notes the items whose type is unknown. */
  noteItems(project: string, items: readonly Item[], time: number): void {
    const names = this.#byProject.get(project)
    if (!names) return
    for (const { type } of items) if (!ITEM_TYPES.has(type)) noteName(names.types, cut(type), time)
  }

  all(): ProjectSdks[] {
    return Array.from(this.#byProject, ([project, { sdks, releases, types }]) => ({
      ...{ project, sdks: newestFirst(sdks), releases: newestFirst(releases) },
      unknown_types: newestFirst(types).map((type) => ({ ...type, count: types.get(type.name)?.count ?? 0 })),
    }))
  }
}

/** Updates known names in place: this runs for every envelope. */
function noteName(names: Names, name: string, time: number): void {
  const known = names.get(name)
  if (known) {
    known.last = time
    known.count++
    return
  }
  if (names.size >= MAX_NAMES) names.delete(newestFirst(names).at(-1)?.name ?? '')
  names.set(name, { last: time, count: 1 })
}

function newestFirst(names: Names): LastSeen[] {
  return Array.from(names, ([name, { last }]) => ({ name, last })).sort((a, b) => b.last - a.last)
}
