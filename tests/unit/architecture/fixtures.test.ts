/** Options of fixtures in test files. The files of a worker share the fixtures. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sourceFiles } from '../../support/architecture/imports.ts'
import { ROOT } from '../../support/node.ts'

it('are overridden within a describe only: at the top of a file they would change for later files', () => {
  const overriding = sourceFiles('tests').filter((file) =>
    /^(\S.*| +)\.override\(/m.test(readFileSync(join(ROOT, 'tests', file), 'utf8')),
  )
  expect(overriding).toEqual([])
})
