/** What the papers for operators name is there. */

import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/node.ts'

const read = (file: string) => readFileSync(resolve(ROOT, file), 'utf8')

describe('The papers for operators', () => {
  it.each(['SECURITY.md', 'CHANGELOG.md', 'docs/capacity.md', 'docs/runbook.md'])(
    'name in %s files and commands that there are',
    (paper) => {
      const quoted = [...read(paper).matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
      const files = quoted.filter((text) =>
        /^(tests|deploy|docs|scripts)\/[\w./{},-]+$|^[A-Z]+\.md$/.test(text),
      )
      expect(files.filter((file) => globSync(file, { cwd: ROOT }).length === 0)).toEqual([])
      for (const pattern of files.filter((file) => file.includes('{'))) {
        const [, names = ''] = /\{(.+)\}/.exec(pattern) ?? []
        for (const name of names.split(','))
          expect(existsSync(resolve(ROOT, pattern.replace(/\{.+\}/, name))), name).toBe(true)
      }
      const { scripts } = JSON.parse(read('package.json'))
      const commands = quoted.flatMap((text) => /^npm run ([\w:]+)/.exec(text)?.[1] ?? [])
      expect(commands.filter((name) => !(name in scripts))).toEqual([])
    },
  )

  it.each(['tunnel', 'web'])(
    'describe a bill of materials of %s that holds each of its packages with its hash',
    async (workspace) => {
      const [command = ''] = /`npm sbom ([^`]+) --workspace tunnel`/.exec(read('SECURITY.md'))?.slice(1) ?? []
      const args = ['sbom', ...command.split(' '), '--workspace', workspace]
      const { stdout } = await promisify(execFile)('npm', args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 })
      const { components } = JSON.parse(stdout) as {
        components: { name: string; version: string; hashes?: unknown[] }[]
      }
      const { dependencies } = JSON.parse(read(`${workspace}/package.json`)) as {
        dependencies: Record<string, string>
      }
      const installed = Object.entries(dependencies).filter(([name]) => name !== 'tunnel')
      expect(installed.length).toBeGreaterThan(3)
      for (const [name, version] of installed)
        expect(components).toContainEqual(
          expect.objectContaining({ name, version, hashes: [expect.anything()] }),
        )
    },
  )
})
