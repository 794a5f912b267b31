/** `npm start` after a change of web: it rebuilds, prints build errors, and stops on request. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { buildWeb } from '../../scripts/build-web.ts'
import { freePort } from '../../scripts/start/free-port.ts'
import { type Clone, makeClone } from '../support/clone.ts'
import { processesIn, runCommand } from '../support/command.ts'
import { ROOT } from '../support/node.ts'
import { requires } from '../support/requirements.ts'

const COMMAND = ['node', 'scripts/bootstrap.mjs', 'scripts/start.ts', '--plain']

describe('npm start as plain processes', requires('nginx', 'proc'), () => {
  let clone: Clone

  beforeAll(async () => {
    await buildWeb(ROOT, process.env)
    clone = makeClone()
    clone.lendBuild()
  })
  afterAll(() => clone.remove())
  afterEach(() => expect(processesIn(clone.path)).toEqual([]))

  const start = async () => runCommand(clone.path, COMMAND, { HTTP_PORT: String(await freePort()) })

  it('rebuilds what has changed, and prints the error of a build that fails', async () => {
    const config = join(clone.path, 'web/next.config.ts') // the build reads it first
    const asItWas = readFileSync(config, 'utf8')
    writeFileSync(config, `${asItWas}\nconst = broken\n`)
    await using site = await start()
    expect(await site.exited).toBe(1)
    expect(site.output()).toContain('next.config.ts')
    expect(site.output()).toMatch(/culvert: Building the web app failed \(exit code \d+\)\.\n$/)
  })

  it('stops during a build', async () => {
    writeFileSync(join(clone.path, 'web/app/global.css'), '/* changed */')
    await using site = await start()
    await site.says('Building the web app')
    site.interrupt()
    expect(await site.exited).toBe(0)
  })
})
