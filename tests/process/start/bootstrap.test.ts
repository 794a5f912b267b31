/** Bootstrap of a fresh clone: packages of the lockfile, and Node.js 24. */

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Command, runCommand } from '../../support/command.ts'
import { NODE, ROOT } from '../../support/node.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

// Writes npm's record of the packages in the lockfile, and a log of its calls.
const NPM = `
const { appendFileSync, copyFileSync, mkdirSync } = require('node:fs')
appendFileSync('npm-calls', process.argv.slice(2).join(' ') + '\\n')
if (process.env.NPM_FAILS) { console.error('npm error no such package'); process.exit(1) }
mkdirSync('node_modules', { recursive: true })
setTimeout(() => copyFileSync('package-lock.json', 'node_modules/.package-lock.json'), 500)
`
const SCRIPT = `
const words: string[] = process.argv.slice(2)
process.on('SIGTERM', () => process.exit(7))
if (words[0] === 'wait') setTimeout(() => {}, 60_000)
console.log('hello', ...words)
process.exitCode = words.length
`
const INTERRUPTIBLE = `
import { once } from 'node:events'
import { runCommand, stopSignal } from ${JSON.stringify(join(ROOT, 'scripts/environment.ts'))}
await runCommand({ name: 'hello', usage: '', flags: [] }, async () => {
  const aborted = once(stopSignal(), 'abort')
  const timer = setInterval(() => {}, 1000)
  console.log('ready')
  await aborted
  clearInterval(timer)
})
`
// libuv's pipe holds 4,096 signals. When a process without CPU time gets more, it loses SIGCHLD, and waits for its child forever.
const MAX_SIGNALS = 4_000
const PACKAGES = {
  '': {},
  'node_modules/one': { integrity: 'sha512-1' },
  'node_modules/for-another-system': { integrity: 'sha512-2', optional: true },
}

describe('bootstrap', () => {
  let folder: Awaited<ReturnType<typeof makeFolder>>

  beforeEach(async () => {
    folder = await makeFolder()
    for (const file of ['bootstrap.mjs', 'progress.mjs'])
      write(`scripts/${file}`, readFileSync(join(ROOT, 'scripts', file)))
    write('scripts/hello.ts', SCRIPT)
    write('npm-cli.js', NPM)
    write('package-lock.json', JSON.stringify({ packages: PACKAGES }))
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  function write(path: string, content: string | Buffer): void {
    mkdirSync(dirname(join(folder.path, path)), { recursive: true })
    writeFileSync(join(folder.path, path), content)
  }

  function writeRecord(packages: Record<string, object>): void {
    write('node_modules/.package-lock.json', JSON.stringify({ packages }))
  }

  function run(args: string[] = [], env: Record<string, string> = {}): Command {
    const command = [NODE, 'scripts/bootstrap.mjs', 'scripts/hello.ts', ...args]
    return runCommand(folder.path, command, { npm_execpath: join(folder.path, 'npm-cli.js'), ...env })
  }

  /** Returns an environment in which Node reports an old version and `platform`. */
  function oldNode(platform: string): Record<string, string> {
    const code = `const set = (name, value) => Object.defineProperty(process, name, { value });
      set('versions', { ...process.versions, node: '20.11.0' }); set('platform', '${platform}'); set('arch', 'x64')`
    return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
  }

  function installs(): string[] {
    const calls = join(folder.path, 'npm-calls')
    return existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []
  }

  it('installs the packages when there are none, and passes the arguments to the script', async () => {
    const command = run(['a', 'b'])
    expect(await command.exited).toBe(2)
    expect(command.output()).toMatch(/^Installing packages \(npm ci\) …\n.*: done in \d+ s\nhello a b\n$/)
    expect(installs()).toEqual(['ci --loglevel=error'])
  })

  it('installs nothing when only packages for other systems are missing', async () => {
    writeRecord({ 'node_modules/one': { integrity: 'sha512-1' } })
    const command = run()
    expect(await command.exited).toBe(0)
    expect(command.output()).toBe('hello\n')
  })

  it.each([
    ['of another version', { 'node_modules/one': { integrity: 'sha512-0' } }],
    ['too few', {}],
    ['too many', { 'node_modules/one': { integrity: 'sha512-1' }, 'node_modules/two': {} }],
  ])('installs the packages again when npm’s record has a package %s', async (_, record) => {
    writeRecord(record)
    expect(await run().exited).toBe(0)
    expect(installs()).toHaveLength(1)
  })

  it('prints the output of npm when the installation fails, and exits with 1', async () => {
    const command = run([], { NPM_FAILS: 'yes' })
    expect(await command.exited).toBe(1)
    expect(command.output()).toMatch(
      /npm error no such package\nculvert: Installing packages \(npm ci\) failed \(exit code 1\)\.\n$/,
    )
  })

  it('installs once for two commands at the same time', async () => {
    const commands = [run(), run()]
    expect(await Promise.all(commands.map(({ exited }) => exited))).toEqual([0, 0])
    expect(installs()).toHaveLength(1)
    const output = commands.map((command) => command.output()).join('')
    expect(output).toMatch(/Waiting for process \d+, which installs the packages …/)
  })

  it('takes over the lock of a process that died', async () => {
    const dead = run()
    await dead.says('Installing')
    process.kill(-dead.pid, 'SIGKILL')
    await dead.exited
    expect(existsSync(join(folder.path, '.culvert/install.lock'))).toBe(true)
    expect(await run().exited).toBe(0)
  })

  it('names the version to install on platforms without a packaged Node, and does nothing else', async () => {
    const command = run([], oldNode('darwin'))
    expect(await command.exited).toBe(1)
    expect(command.output()).toBe(
      'culvert: Node.js 24 or newer is needed, this is 20.11.0; install it from https://nodejs.org and run this again.\n',
    )
    expect(installs()).toEqual([])
  })

  it('runs the script with the packaged Node on Linux when its own is too old', async () => {
    writeRecord({ 'node_modules/one': { integrity: 'sha512-1' } })
    write('node_modules/.bin/node', '#!/bin/sh\necho "brought: $*"\n')
    chmodSync(join(folder.path, 'node_modules/.bin/node'), 0o755)
    const command = run(['a'], oldNode('linux'))
    expect(await command.exited).toBe(0)
    expect(command.output()).toBe(`brought: ${join(folder.path, 'scripts/hello.ts')} a\n`)
  })

  it('names the version to install when the packaged Node cannot run', async () => {
    writeRecord({ 'node_modules/one': { integrity: 'sha512-1' } })
    const command = run([], oldNode('linux'))
    expect(await command.exited).toBe(1)
    expect(command.output()).toMatch(/^culvert: Node\.js 24 or newer is needed, this is 20\.11\.0;/)
  })

  it('exits with the code of the script when signals arrive until the end', async () => {
    writeRecord({ 'node_modules/one': { integrity: 'sha512-1' } })
    const command = run(['wait'])
    await command.says('hello wait')
    await signalUntilExit(command, 'SIGTERM')
    expect(await command.exited).toBe(7)
  })

  it('exits with 0 after Ctrl-C when signals arrive until the end', async () => {
    writeRecord({ 'node_modules/one': { integrity: 'sha512-1' } })
    write('scripts/hello.ts', INTERRUPTIBLE)
    const command = run()
    await command.says('ready')
    await signalUntilExit(command, 'SIGINT')
    expect(await command.exited).toBe(0)
  })

  it('forwards a signal to the script, and exits with its code', async () => {
    writeRecord({ 'node_modules/one': { integrity: 'sha512-1' } })
    const command = run(['wait'])
    await command.says('hello wait')
    process.kill(command.pid, 'SIGTERM')
    expect(await command.exited).toBe(7)
  })
})

/** Signals the whole process group, as a terminal does, every millisecond until the command has exited. */
async function signalUntilExit({ pid, exited }: Command, signal: NodeJS.Signals): Promise<void> {
  let isRunning = true
  exited.then(() => {
    isRunning = false
  })
  for (let sent = 0; isRunning && sent < MAX_SIGNALS; sent++) {
    try {
      process.kill(-pid, signal)
    } catch {
      await exited // the last process of the group has just ended
    }
    await sleep(1)
  }
}
