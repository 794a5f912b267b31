/** `npm test` with the names of files. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { NODE, ROOT } from '../../support/node.ts'

const NEEDS_A_CLUSTER = 'tests/process/deploy/chart-cluster.test.ts'
const NEEDS_NOTHING = 'tests/unit/networks.test.ts'

type Outcome = { code?: number; stdout: string; stderr: string }

/** Runs test files on a machine without a cluster. */
function runTests(...files: string[]): Promise<Outcome> {
  const env = { PATH: process.env.PATH ?? '', KUBECONFIG: '' }
  return promisify(execFile)(NODE, ['scripts/test.ts', ...files], { cwd: ROOT, env }).catch(
    (failure) => failure,
  )
}

it('fails and says what is missing when no test of a named file ran', async () => {
  const { code, stdout, stderr } = await runTests(NEEDS_NOTHING, NEEDS_A_CLUSTER)
  expect(stdout).toMatch(/^[1-9]\d* passed, 0 failed, [1-9]\d* skipped$/m)
  expect(stderr).toContain(`no test of ${NEEDS_A_CLUSTER} ran`)
  expect(stderr).toContain('KUBECONFIG')
  expect(code).toBe(1)
})

it('succeeds when tests of each named file ran', async () => {
  const { code, stderr } = await runTests(NEEDS_NOTHING)
  expect(stderr).not.toContain('no test of')
  expect(code).toBeUndefined()
})
