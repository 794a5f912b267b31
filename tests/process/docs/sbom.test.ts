/** The bill of materials that SECURITY.md describes. */

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/node.ts'

const read = (file: string) => readFileSync(resolve(ROOT, file), 'utf8')
/** Packages without a hash: they are folders of the repository. */
const WORKSPACES = new Set(['contract', 'tunnel'])

describe('The SBOM command in SECURITY.md', () => {
  it.each(['tunnel', 'web'])('lists every package of %s with its hash', async (workspace) => {
    const [command = ''] = /`npm sbom ([^`]+) --workspace tunnel`/.exec(read('SECURITY.md'))?.slice(1) ?? []
    const args = ['sbom', ...command.split(' '), '--workspace', workspace]
    const { stdout } = await promisify(execFile)('npm', args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 })
    const { components } = JSON.parse(stdout) as {
      components: { name: string; version: string; hashes?: unknown[] }[]
    }
    const { dependencies } = JSON.parse(read(`${workspace}/package.json`)) as {
      dependencies: Record<string, string>
    }
    const installed = Object.entries(dependencies).filter(([name]) => !WORKSPACES.has(name))
    expect(installed.length).toBeGreaterThan(3)
    for (const [name, version] of installed)
      expect(components).toContainEqual(
        expect.objectContaining({ name, version, hashes: [expect.anything()] }),
      )
  })
})
