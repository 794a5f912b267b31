/** A folder for one test's files. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Makes an empty one. `await using` takes it away with all that is in it. */
export async function makeFolder() {
  const path = await mkdtemp(join(tmpdir(), 'culvert-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
