/** `npm run release`: the files of a rehearsal, and its exit code. */

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { NODE, ROOT } from '../../support/node.ts'
import { requires } from '../../support/requirements.ts'

const FOLDER = join(ROOT, '.culvert/release')

type Outcome = { code?: number; stdout: string; stderr: string }

/** Runs the command where no Docker Engine answers. */
function release(...flags: string[]): Promise<Outcome> {
  const env = { ...process.env, DOCKER_HOST: 'unix:///nonexistent' }
  return promisify(execFile)(NODE, ['scripts/release.ts', ...flags], { cwd: ROOT, env }).catch(
    (failure) => failure,
  )
}

describe('npm run release', () => {
  it('fails without --dry-run, since only the workflow publishes', async () => {
    const { code, stderr } = await release()
    expect(code).toBe(1)
    expect(stderr).toContain('--dry-run')
  })

  it('writes what needs no engine, and fails because the images are missing', requires('helm'), async () => {
    const { code, stdout, stderr } = await release('--dry-run')
    expect(code).toBe(1)
    expect(stderr).toContain('No image is built')
    expect(stdout).toContain('Protect the branch') // what to do once, from CONTRIBUTING.md
    const sums = readFileSync(join(FOLDER, 'SHA256SUMS'), 'utf8').trim().split('\n')
    const files = sums.map((line) => line.split('  '))
    for (const [sum, file = ''] of files)
      expect(
        createHash('sha256')
          .update(readFileSync(join(FOLDER, file)))
          .digest('hex'),
      ).toBe(sum)
    const version = /"version": "(.+)"/.exec(readFileSync(join(ROOT, 'package.json'), 'utf8'))?.[1]
    expect(files.map(([, file]) => file)).toEqual([
      `culvert-${version}.tgz`,
      `culvert-tunnel-${version}.npm.sbom.json`,
      `culvert-web-${version}.npm.sbom.json`,
      'notes.md',
      'released.yml',
    ])
    const { packages } = JSON.parse(
      readFileSync(join(FOLDER, `culvert-tunnel-${version}.npm.sbom.json`), 'utf8'),
    )
    const names: string[] = packages.map(({ name }: { name: string }) => name)
    expect(names).toContain('undici')
    expect(names).not.toContain('vitest')
  })
})
