/** Start of a tunnel process with settings that it rejects, and with files that it cannot use: it ends, and does not hang. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { NODE } from '../../support/node.ts'
import { startProgram } from '../../support/program.ts'
import { requires } from '../../support/requirements.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { problemsOf } from '../../support/tunnel/problems.ts'
import { settingsOf } from '../../support/tunnel/running.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const DSN = 'https://key@o1.ingest.us.sentry.io/2'

describe('A tunnel with HOST=::', () => {
  it.each(['127.0.0.1', '[::1]'])('answers at %s', async (host) => {
    await using tunnel = await startTunnel({ env: { HOST: '::' } })
    const { status } = await fetch(`http://${host}:${tunnel.port}/monitoring`)
    expect(status).toBe(405)
  })
})

describe('A tunnel with invalid settings', () => {
  it('exits with 1 and prints each problem on its own line', async () => {
    const env = { PORT: '-1', TUNNEL_PATHS: '/lab', SENTRY_DSN: 'hello' }
    const starting = startTunnel({ env })
    await expect(starting).rejects.toThrow(/^The tunnel ended with 1:/)
    const said = await starting.catch((error: Error) => error.message.split('\n').slice(1))
    expect(said).toEqual(['culvert tunnel: cannot start, 3 problem(s):', ...problemsOf(env)])
  })

  it.each([
    [
      { BODY_DIR: '/dev/null/bodies' },
      /^BODY_DIR: "\/dev\/null\/bodies" cannot be written to; write .+ \(E.+\)$/,
    ],
    [
      { SENTRY_DSN: DSN, SPOOL_URL: 'file:///dev/null/spool.db' },
      /^SPOOL_URL: the spool cannot be opened; .+ \(E.+\)$/,
    ],
    [
      { HOST: '192.0.2.1', ADMIN_PORT: '127.0.0.1:0' },
      /^PORT: \d+ cannot be listened at; write .+ \(listen EADDRNOTAVAIL: .+\)$/,
    ],
  ])('does not start with %j, and prints in one line what to write instead', async (env, words) => {
    const starting = startTunnel({ env })
    const said = await starting.then(
      () => [],
      (error: Error) => error.message.split('\n').slice(1),
    )
    expect(said).toEqual(['culvert tunnel: cannot start, 1 problem(s):', expect.stringMatching(words)])
  })

  it('exits when another process listens at its port', async () => {
    await using first = await startTunnel()
    for (const name of ['PORT', 'ADMIN_PORT'])
      await expect(startTunnel({ env: { [name]: String(first.port) } })).rejects.toThrow(
        new RegExp(`\n${name}: ${first.port} cannot be listened at; write .+ \\(listen EADDRINUSE: .+\\)$`),
      )
  })
})

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
    symlinkSync('/proc', join(folder.path, 'bodies')) // not even root can write there
    const SPOOL_URL = pathToFileURL(join(folder.path, 'spool.db')).href
    const said = await errorOfStart(folder.path, {
      SENTRY_DSN: DSN,
      SPOOL_URL,
      BODY_DIR: join(folder.path, 'requests'),
    })
    expect(said).toMatch(/SPOOL_URL: ".*bodies" cannot be written to .*; give it to the user of the tunnel/)
  })
})
