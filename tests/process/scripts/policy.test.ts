/** `npm run policy`, as a process of its own. */

import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { envelopeOf } from '../../support/envelopes.ts'
import { ENVIRONMENT, ROOT } from '../../support/node.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

describe('npm run policy', () => {
  function run(args: string[], env: Record<string, string> = {}) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['tunnel/src/commands/policy.ts', ...args],
      {
        cwd: ROOT,
        env: { ...ENVIRONMENT, ...env },
        encoding: 'utf8',
      },
    )
    return { status, text: stdout + stderr }
  }

  it('reads a file and the settings of the tunnel', async () => {
    await using folder = await makeFolder()
    const file = join(folder.path, 'a.envelope')
    await writeFile(file, envelopeOf({}, [{ header: { type: 'event' }, payload: '{"message":"10.0.0.1"}' }]))
    expect(run(['try', file], { SCRUB: 'strict' })).toEqual({
      status: 0,
      text: expect.stringMatching(
        /^event:\n {2}message: 10\.0\.0\.1 -> \[ip\] \(@ip:replace\)\nFound by rule:\n {2}@ip:replace: 1\nCounts for quotas: error 1\n/,
      ),
    })
    expect(run(['try', file], { SCRUB: 'loud' })).toMatchObject({
      status: 1,
      text: expect.stringContaining('SCRUB: "loud"'),
    })
  })
})
