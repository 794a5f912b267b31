/** Parts of `npm run release -- --dry-run` that read the output of others. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { platformsOf, setPrefix } from '../../../scripts/release.ts'
import { ROOT } from '../../support/node.ts'

it('reads the platforms of all nodes of a builder', () => {
  const inspected = `Name: default
Nodes:
Name:             one
Platforms:        linux/amd64*, linux/386
Name:             two
Platforms:        linux/arm64
`
  expect([...platformsOf(inspected)]).toEqual(['linux/amd64', 'linux/386', 'linux/arm64'])
  expect([...platformsOf('ERROR: no builder')]).toEqual([])
})

it('sets the name of the images in the values of the chart', () => {
  const values = readFileSync(join(ROOT, 'deploy/helm/culvert/values.yaml'), 'utf8')
  expect(setPrefix(values, 'ghcr.io/own/shop')).toContain('\n  prefix: ghcr.io/own/shop\n')
  expect(() => setPrefix('image: {}', 'ghcr.io/own/shop')).toThrow('prefix')
})
