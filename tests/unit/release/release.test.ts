/** Parts of a release: the section of the changelog, equal versions in all files, platforms and the name of the images. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readVersions, takeSection, versionOf } from '../../../scripts/release/notes.ts'
import { platformsOf, setPrefix } from '../../../scripts/release.ts'
import { ROOT } from '../../support/node.ts'

const CHANGELOG = `# Changelog

## [Unreleased]

## [0.2.0] - 2027-01-01

### Added

- A.

## [0.1.0] - 2026-12-01

- B.

[0.1.0]: https://example.com
`

describe('takeSection', () => {
  it('returns the section of a version without its heading', () => {
    expect(takeSection(CHANGELOG, '0.2.0')).toBe('### Added\n\n- A.')
  })

  it('ends before the link definitions', () => {
    expect(takeSection(CHANGELOG, '0.1.0')).toBe('- B.')
  })

  it('returns nothing for a section without entries, or a version without a section', () => {
    expect(takeSection(CHANGELOG, 'Unreleased')).toBe('')
    expect(takeSection(CHANGELOG, '0.3.0')).toBeUndefined()
    expect(takeSection(CHANGELOG, '0.1')).toBeUndefined()
  })

  it('returns the last section to its end', () => {
    expect(takeSection('## [1.0.0]\n\n- C.\n', '1.0.0')).toBe('- C.')
  })
})

describe('versionOf', () => {
  it('returns the version of a tag that all files have', () => {
    expect(versionOf('v0.1.0', { 'package.json': '0.1.0' })).toBe('0.1.0')
    expect(versionOf('v0.1.0-rc.1', { 'package.json': '0.1.0-rc.1' })).toBe('0.1.0-rc.1')
  })

  it.each(['0.1.0', 'v0.1', 'v0.1.0; rm -rf /', ''])('rejects the tag %j', (tag) => {
    expect(() => versionOf(tag, {})).toThrow('is not the tag of a release')
  })

  it('names each file that has another version', () => {
    const versions = { 'package.json': '0.1.0', 'Chart.yaml': '0.2.0', 'Dockerfile.web': '0.1.0' }
    expect(() => versionOf('v0.2.0', versions)).toThrow('package.json has 0.1.0, Dockerfile.web has 0.1.0')
  })
})

describe('The files of the repository', () => {
  it('name the same version', () => {
    const versions = readVersions()
    expect(new Set(Object.values(versions)).size).toBe(1)
    expect(versionOf(`v${versions['package.json']}`, versions)).toMatch(/^\d/)
  })
})

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
