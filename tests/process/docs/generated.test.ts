/** Generated pages match the code. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readMetrics, referencePages } from '../../../scripts/docs/reference-pages.ts'
import { ROOT } from '../../support/node.ts'

describe('npm run config -- --docs', async () => {
  it.each(Object.entries(referencePages()))('generates %s as it is in the repository', (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text)
  })
})

describe('readMetrics', () => {
  it('returns name, type, labels and help of each metric', () => {
    const text =
      '# HELP a_total As.\n# TYPE a_total counter\na_total{x="1",y="2"} 3\n# HELP b Bs.\n# TYPE b gauge\nb 1\n'
    expect(readMetrics(text)).toEqual([
      { name: 'a_total', type: 'counter', labels: ['x', 'y'], help: 'As.' },
      { name: 'b', type: 'gauge', labels: [], help: 'Bs.' },
    ])
  })
})
