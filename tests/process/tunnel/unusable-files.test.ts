/** Files of settings that a tunnel cannot use: it ends with one sentence, and does not hang. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { NODE } from '../../support/node.ts'
import { startProgram } from '../../support/program.ts'
import { requires } from '../../support/requirements.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { settingsOf } from '../../support/tunnel/running.ts'

const DSN = 'http://key@127.0.0.1:9/1'

async function errorOfStart(folder: string, env: Record<string, string>): Promise<string> {
  const tunnel = startProgram('The tunnel', NODE, ['tunnel/src/main.ts'], settingsOf(folder, env))
  expect(await tunnel.exited).toEqual({ code: 1, signal: null })
  return tunnel.stderr.join('\n')
}

describe('A tunnel does not start', requires('proc'), () => {
  it.each([
    ['SPOOL_URL', 'a FIFO', (file: string) => execFileSync('mkfifo', [file])],
    ['SPOOL_URL', 'a folder', (file: string) => mkdirSync(file)],
  ])('when %s is %s', async (setting, _, make) => {
    await using folder = await makeMemoryFolder()
    const file = join(folder.path, 'special')
    make(file)
    const env = { SENTRY_DSN: DSN, SPOOL_URL: pathToFileURL(file).href }
    expect(await errorOfStart(folder.path, env)).toContain(
      `${setting}: "${file}" is not a regular file; write the path`,
    )
  })

  it('when the folder of large bodies cannot be written to', async () => {
    await using folder = await makeMemoryFolder()
    symlinkSync('/proc', join(folder.path, 'bodies')) // nobody can write there, not even root
    const SPOOL_URL = pathToFileURL(join(folder.path, 'spool.db')).href
    const said = await errorOfStart(folder.path, {
      SENTRY_DSN: DSN,
      SPOOL_URL,
      BODY_DIR: join(folder.path, 'requests'),
    })
    expect(said).toMatch(/SPOOL_URL: ".*bodies" cannot be written to .*; give it to the user of the tunnel/)
  })
})
