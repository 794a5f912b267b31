/** `npm start -- --tunnel-only`: one tunnel, without nginx and web. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/start/free-port.ts'
import { type Clone, makeClone } from '../../support/clone.ts'
import { type Command, processesIn, runCommand, until } from '../../support/command.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { requires } from '../../support/requirements.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'

const COMMAND = ['node', 'scripts/bootstrap.mjs', 'scripts/start.ts', '--tunnel-only']
const VISITOR = '9.9.9.9'

describe('npm start -- --tunnel-only', requires('proc'), () => {
  const started = new AsyncDisposableStack()
  let clone: Clone
  let sentry: Sentry
  let command: Command
  let port: number
  let adminPort: number

  beforeAll(async () => {
    clone = started.adopt(makeClone(), ({ remove }) => remove())
    sentry = started.use(await startSentry())
    port = await freePort()
    adminPort = await freePort()
    const ports = { HOST: '0.0.0.0', PORT: `${port}`, ADMIN_PORT: `${adminPort}` }
    command = started.use(runCommand(clone.path, COMMAND, { SENTRY_DSN: sentry.dsn(), ...ports }))
    await command.says(`The tunnel accepts reports at http://127.0.0.1:${port}/monitoring`)
  })

  afterAll(() => started.disposeAsync())

  it('forwards an envelope with the client address that a proxy of this machine sends', async () => {
    const headers = { 'x-forwarded-for': VISITOR, cookie: 'session=1' }
    const { status } = await post(`http://127.0.0.1:${port}`, { headers, body: errorOf(sentry.dsn()) })
    expect(status).toBe(200)
    const received = await sentry.next(() => true)
    expect(received.headers).toMatchObject({ 'x-forwarded-for': VISITOR })
    expect(received.headers).not.toHaveProperty('cookie')
  })

  it('serves the SDK, and answers a health check of a proxy', async () => {
    const sdk = await fetch(`http://127.0.0.1:${port}/monitoring/sdk.js`)
    expect([sdk.status, sdk.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
    expect((await fetch(`http://127.0.0.1:${port}/monitoring`, { method: 'OPTIONS' })).status).toBe(204)
  })

  it('names the admin port, and opens it at 127.0.0.1 only although HOST is 0.0.0.0', async () => {
    const url = `http://127.0.0.1:${adminPort}`
    expect(command.output()).toContain(`Metrics: ${url}/metrics. Status: ${url}/status`)
    expect(readFileSync(join(clone.path, '.culvert/admin-ports'), 'utf8')).toBe(`${url}\n`)
    expect((await fetch(`${url}/metrics`)).status).toBe(200)
    expect((await fetch(`http://127.0.0.2:${port}/`)).status).toBe(404)
    await expect(fetch(`http://127.0.0.2:${adminPort}/metrics`)).rejects.toThrow()
  })

  it.each(['PORT', 'ADMIN_PORT'])('ends with one sentence when another program has %s', async (name) => {
    const ports = { PORT: `${await freePort()}`, ADMIN_PORT: `${await freePort()}`, [name]: `${adminPort}` }
    await using second = runCommand(clone.path, COMMAND, { SENTRY_DSN: sentry.dsn(), ...ports })
    expect(await second.exited).toBe(1)
    expect(second.output()).toContain(
      `culvert: port ${adminPort} of 127.0.0.1 is taken by another program; stop it, or set ${name} to a free port.`,
    )
  })

  it('started by npm, it ends when npm gets SIGTERM, which its shell does not pass on', async () => {
    const ports = { PORT: `${await freePort()}`, ADMIN_PORT: `${await freePort()}` }
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: '', ...ports }
    const others = processesIn(clone.path).map(({ pid }) => pid)
    const ofNpm = () => processesIn(clone.path).filter(({ pid }) => !others.includes(pid))
    await using npm = runCommand(clone.path, ['npm', 'start', '--', '--tunnel-only'], env)
    await npm.says('The tunnel accepts reports')
    expect(ofNpm().map(({ command }) => command)).toContainEqual(
      expect.stringContaining('max-old-space-size'),
    )
    process.kill(npm.pid, 'SIGTERM')
    await until(() => ofNpm().length === 0, 'no process of npm start is left')
  })

  it('runs neither nginx nor web, and leaves no process behind', async () => {
    const commands = processesIn(clone.path).map(({ command }) => command)
    expect(commands.filter((each) => /nginx|next/.test(each))).toEqual([])
    expect(commands.filter((each) => each.includes('tunnel/src/main.ts'))).toHaveLength(1)
    command.interrupt()
    expect(await command.exited).toBe(0)
    expect(processesIn(clone.path)).toEqual([])
  })
})
