/** Which SDKs and releases have sent of late, by project: names that senders write, so they are few and short. */

import type { LastSeen, ProjectSdks } from '../contract.ts'
import { cut } from '../envelope/summary.ts'
import type { Projects } from '../projects.ts'

export type SdkInventory = {
  /** Of an envelope that is proven to be of this project; `release` is what its header says, whatever that is. */
  note(project: string, sdk: string | undefined, release: unknown, time: number): void
  all(): ProjectSdks[]
}

const MOST = 50 // of each; past them goes the one not seen for longest
const RELEASE_LENGTH = 200 // as long as Sentry takes

/** When each name was last seen, in milliseconds since 1970. */
type Names = Map<string, { last: number }>

export function createSdkInventory(projects: Projects): SdkInventory {
  const byProject = new Map(
    projects.all.map(({ name }) => [name, { sdks: new Map() as Names, releases: new Map() as Names }]),
  )
  return { note, all }

  function note(project: string, sdk: string | undefined, release: unknown, time: number): void {
    const its = byProject.get(project)
    if (!its) return
    if (sdk !== undefined) noteName(its.sdks, sdk, time)
    if (typeof release === 'string' && release !== '')
      noteName(its.releases, cut(release, RELEASE_LENGTH), time)
  }

  function all(): ProjectSdks[] {
    return [...byProject].map(([project, { sdks, releases }]) => ({
      ...{ project, sdks: newestFirst(sdks), releases: newestFirst(releases) },
    }))
  }
}

/** Of every envelope: what is known already is changed in its place. */
function noteName(names: Names, name: string, time: number): void {
  const known = names.get(name)
  if (known) {
    known.last = time
    return
  }
  if (names.size >= MOST) names.delete(longestUnseen(names))
  names.set(name, { last: time })
}

function longestUnseen(names: Names): string {
  let [oldest, since] = ['', Infinity]
  for (const [name, { last }] of names) if (last < since) [oldest, since] = [name, last]
  return oldest
}

function newestFirst(names: Names): LastSeen[] {
  return [...names].map(([name, { last }]) => ({ name, last })).sort((a, b) => b.last - a.last)
}
