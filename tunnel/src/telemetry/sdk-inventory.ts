/** SDKs and releases that have sent envelopes lately, by project. Senders choose the names, so both are bounded. */

import type { LastSeen, ProjectSdks } from '../contract.ts'
import { cut } from '../envelope/summary.ts'
import type { Projects } from '../projects.ts'

const MAX_NAMES = 50 // SDKs or releases of one project
const MAX_RELEASE_LENGTH = 200 // Sentry's limit

/** Time of the last envelope by name, in milliseconds since 1970. */
type Names = Map<string, { last: number }>

export class SdkInventory {
  readonly #byProject: ReadonlyMap<string, { sdks: Names; releases: Names }>

  constructor(projects: Projects) {
    this.#byProject = new Map(
      projects.all.map(({ name }) => [name, { sdks: new Map(), releases: new Map() }]),
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

  all(): ProjectSdks[] {
    return Array.from(this.#byProject, ([project, { sdks, releases }]) => ({
      ...{ project, sdks: newestFirst(sdks), releases: newestFirst(releases) },
    }))
  }
}

/** Updates known names in place: this runs for every envelope. */
function noteName(names: Names, name: string, time: number): void {
  const known = names.get(name)
  if (known) {
    known.last = time
    return
  }
  if (names.size >= MAX_NAMES) names.delete(newestFirst(names).at(-1)?.name ?? '')
  names.set(name, { last: time })
}

function newestFirst(names: Names): LastSeen[] {
  return Array.from(names, ([name, { last }]) => ({ name, last })).sort((a, b) => b.last - a.last)
}
