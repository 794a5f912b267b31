/** Copy of this repository to start commands in, like a clone with its packages installed. */

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './node.ts'

export type Clone = ReturnType<typeof makeClone>

/** Copies the work tree as it is now; `remove` deletes the copy. */
export function makeClone() {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'culvert-clone-')))
  for (const file of listFiles()) cpSync(join(ROOT, file), join(path, file))
  copyPackages(path)
  return {
    path,
    /** Adds the existing builds of web and of the SDK. */
    lendBuild: () => copyBuild(path),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

function listFiles(): string[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  return stdout.split('\0').filter((file) => file && existsSync(join(ROOT, file)))
}

/** Copies with hard links where the file system has them: they take 1 s, copies half a minute. */
function copyPackages(to: string): void {
  const linked = spawnSync('cp', ['-al', join(ROOT, 'node_modules'), to])
  if (linked.status === 0) return
  const copy = join(to, 'node_modules')
  rmSync(copy, { recursive: true, force: true })
  cpSync(join(ROOT, 'node_modules'), copy, { recursive: true, verbatimSymlinks: true })
}

function copyBuild(to: string): void {
  const build = join(ROOT, 'web/.next')
  const filter = (path: string) => path !== join(build, 'cache')
  cpSync(build, join(to, 'web/.next'), { recursive: true, verbatimSymlinks: true, filter })
  const sdk = join(ROOT, 'tunnel/.sdk')
  if (existsSync(sdk)) cpSync(sdk, join(to, 'tunnel/.sdk'), { recursive: true })
}
