/** Folder for one test's files. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates an empty folder. `await using` deletes it with its contents. */
export async function makeFolder() {
  const path = await mkdtemp(join(tmpdir(), 'culvert-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
