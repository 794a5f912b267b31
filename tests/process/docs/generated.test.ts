/** Generated pages match the code. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { referencePages } from '../../../scripts/docs/reference-pages.ts'
import { ROOT } from '../../support/node.ts'

describe('npm run config -- --docs', async () => {
  it.each(Object.entries(referencePages()))('generates %s as it is in the repository', (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text)
  })
})
