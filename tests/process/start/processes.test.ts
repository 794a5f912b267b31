/** `npm start` as plain processes: its processes, its output, and its end. */

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { buildWeb } from '../../../scripts/build-web.ts'
import { freePort } from '../../../scripts/start/free-port.ts'
import { parentDeathPrefix } from '../../../scripts/supervisor.ts'
import { type Clone, makeClone } from '../../support/clone.ts'
import { type Command, processesIn, runCommand, until } from '../../support/command.ts'
import { ROOT } from '../../support/node.ts'
import { startUpstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'

const COMMAND = ['node', 'scripts/bootstrap.mjs', 'scripts/start.ts', '--plain']
const ENVELOPE = `{"dsn":"${INBOX_DSN}"}\n{"type":"event"}\n{"message":"broken"}`

describe('npm start as plain processes', requires('nginx', 'proc'), () => {
  let clone: Clone
  let port: number

  beforeAll(async () => {
    await buildWeb(ROOT, process.env)
    clone = makeClone()
    clone.lendBuild()
  })
  afterAll(() => clone.remove())

  async function start(env: Record<string, string> = {}): Promise<Command> {
    port = await freePort()
    return runCommand(clone.path, COMMAND, { HTTP_PORT: String(port), ...env })
  }

  async function startedUp(env: Record<string, string> = {}): Promise<Command> {
    const site = await start(env)
    await site.says(`Culvert runs at http://${env.APP_URL ? 'localhost' : '127.0.0.1'}:${port}`)
    return site
  }

  function status(path: string, init: RequestInit = {}): Promise<number | undefined> {
    return fetch(`http://127.0.0.1:${port}${path}`, init).then(
      (answer) => answer.status,
      () => undefined,
    )
  }

  function pidOf(words: RegExp): number {
    return processesIn(clone.path).find(({ command }) => words.test(command))?.pid ?? 0
  }

  describe('that keeps running', () => {
    let site: Command

    beforeAll(async () => {
      site = await startedUp({ CA_FILE: 'tests/fixtures/tls/cert.pem' }) // web uses it too, from another folder
    })
    afterAll(() => site?.[Symbol.asyncDispose]())

    it('prints the address when the site answers', async () => {
      expect(await status('/')).toBe(200)
      expect(await status('/monitoring', { method: 'POST', body: '{}' })).toBe(200)
      expect(site.output()).toContain('Running as plain processes (--plain).')
    })

    it('prints where the inbox is, how an SDK sends to it, and the address of the set-up', () => {
      const at = `http://127.0.0.1:${port}`
      expect(site.output()).toContain(`SENTRY_DSN is not set: ${at}/console/inbox\n`)
      expect(site.output()).toContain(`Sentry.init({ dsn: '${INBOX_DSN}', tunnel: '/monitoring?p=1' })\n`)
      expect(site.output()).toContain('<script src="/monitoring/sdk.js" crossorigin></script>\n')
      expect(site.output()).toContain(`Set-up, step by step: ${at}/console/setup\n`)
    })

    it('prints one line for each envelope', async () => {
      expect(await status('/monitoring', { method: 'POST', body: ENVELOPE })).toBe(200)
      await site.says(/tunnel-\d {2}delivered.* {2}event {2}0\.1 KB in \d+ ms\n/)
    })

    it('writes the admin ports of both tunnels to a file for the doctor', async () => {
      const urls = readFileSync(join(clone.path, '.culvert/admin-ports'), 'utf8').trim().split('\n')
      expect(urls).toHaveLength(2)
      for (const url of urls) expect((await fetch(`${url}/readyz`)).status).toBe(200)
    })

    it('has ports that no other program gets while a tunnel is away', async () => {
      const urls = readFileSync(join(clone.path, '.culvert/admin-ports'), 'utf8').trim().split('\n')
      for (const port of urls.map((url) => Number(new URL(url).port))) {
        expect(port).toBeLessThan(32_768) // the first port that Linux gives to connections
        const socket = createSocket('udp4').bind({ port, address: '127.0.0.1', exclusive: true })
        await expect(once(socket, 'listening')).rejects.toThrow('EADDRINUSE') // so `freePort` of another process leaves it out
        socket.close()
      }
    })

    it('creates a password for the operator on the first run, prints it, and reuses it on the next', async () => {
      const file = join(clone.path, '.culvert/operator-password')
      const password = readFileSync(file, 'utf8').trim()
      expect(password).toMatch(/^[\w-]{24}$/)
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(site.output()).toContain(`Operator's password: ${password} `)
    })

    it.each([
      ['a tunnel', 'tunnel-\\d', /tunnel\/src\/main\.ts/],
      ['web', 'web', /^next-server/],
      ['nginx', 'nginx', /^nginx: master/],
    ])('restarts %s after it was killed', async (_, name, words) => {
      const killed = pidOf(words)
      process.kill(killed, 'SIGKILL')
      await site.says(new RegExp(`${name} ended \\(killed by SIGKILL\\) and is started again in 0\\.5 s\\.`))
      await until(() => ![0, killed].includes(pidOf(words)), `${name} runs again`)
      await until(async () => (await status('/')) === 200, 'the site answers again')
      expect(await status('/monitoring', { method: 'POST', body: '{}' })).toBe(200)
    })

    it('serves envelopes while a tunnel is away', async () => {
      process.kill(pidOf(/tunnel\/src\/main\.ts/), 'SIGKILL')
      for (let i = 0; i < 20; i++)
        expect(await status('/monitoring', { method: 'POST', body: '{}' })).toBe(200)
    })

    it('ends with one sentence when the port is in use', async () => {
      await using second = runCommand(clone.path, COMMAND, { HTTP_PORT: String(port) })
      expect(await second.exited).toBe(1)
      expect(second.output()).toContain(
        `culvert: port ${port} of 127.0.0.1 is taken by another program; stop it, or set HTTP_PORT to a free port.`,
      )
      expect(await status('/')).toBe(200)
    })

    it('reports a used port of TUNNEL_ORIGIN in one sentence', async () => {
      await using second = runCommand(clone.path, COMMAND, { HTTP_PORT: String(port - 1) })
      expect(await second.exited).toBe(1)
      expect(second.output()).toContain(`port ${port} of 127.0.0.1 is taken by another program`)
    })

    it('runs beside another instance of the same work tree, and restarts its own nginx only', async () => {
      const [firstPort, firstNginx] = [port, pidOf(/^nginx: master/)]
      const ofFirst = processesIn(clone.path).length
      await using second = await startedUp({ OPERATOR_PASSWORD: 'one of their own' })
      process.kill(firstNginx, 'SIGKILL')
      await site.says(/nginx ended \(killed by SIGKILL\) and is started again in 1 s/) // second end of the process
      port = firstPort
      await until(async () => (await status('/')) === 200, 'the first site answers again')
      expect(second.output()).not.toContain('assword') // prints only one that it has created
      second.interrupt()
      expect(await second.exited).toBe(0)
      expect(second.output()).toMatch(/Stopped\.\n$/)
      expect(processesIn(clone.path)).toHaveLength(ofFirst)
    })
  })

  describe('that ends', () => {
    // The command alone has ended each process: none may remain.
    afterEach(() => expect(processesIn(clone.path)).toEqual([]))

    it('puts nginx in front of the app at APP_URL, prints the origin of the tunnel for servers, and ends its processes when it is killed', async () => {
      await using app = await startUpstream('app')
      await using site = await startedUp({ APP_URL: `http://${app.address}` })
      const read = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
      expect(await read('/')).toBe('app')
      expect(await read('/console/sign-in')).toContain('Culvert')
      expect(await read('/console/check')).toContain('Connection check')
      expect(await read('/console/public/settings.json')).toContain('"/monitoring?p=1"') // for the doctor
      expect(app.asked.filter(({ method }) => method !== 'HEAD')).toHaveLength(1) // the start sends HEAD, the readiness checks nothing
      const [, origin] = /TUNNEL_ORIGIN=(\S+)/.exec(site.output()) ?? []
      expect(origin).toBe(`http://127.0.0.1:${port + 1}`)
      expect((await fetch(`${origin}/monitoring`, { method: 'POST', body: '{}' })).status).toBe(200)
      if (parentDeathPrefix().length === 0) return // without setpriv, they outlive it
      process.kill(pidOf(/^\S+ \S+\/scripts\/start\.ts/), 'SIGKILL')
      await site.exited
      await until(() => processesIn(clone.path).length === 0, 'every process has ended')
    })

    it('says at the start that the app at APP_URL does not respond, and ends all processes when it is terminated', async () => {
      const app = `127.0.0.1:${await freePort()}`
      await using site = await startedUp({ APP_URL: `http://${app}` })
      await site.says('Your app does not respond at .* in .env. A dev server')
      const sentence = `Your app does not respond at http://${app} (APP_URL). Start it there, or correct APP_URL in .env.`
      expect(site.output().split(sentence)).toHaveLength(2)
      process.kill(site.pid, 'SIGTERM')
      await site.exited
      await until(() => processesIn(clone.path).length === 0, 'every process has ended')
    })

    it('reports in one sentence that containers cannot reach an app at a loopback address', async () => {
      const command = [...COMMAND.slice(0, -1), '--docker']
      await using site = runCommand(clone.path, command, { APP_URL: 'http://localhost:5173' })
      expect(await site.exited).toBe(1)
      expect(site.output()).toContain('APP_URL is http://localhost:5173, which containers cannot reach; ')
    })

    it('names the right syntax for a flag that npm has consumed', async () => {
      await using site = await start({ npm_config_plain: 'true' })
      expect(await site.exited).toBe(1)
      expect(site.output()).toBe('culvert: npm did not pass --plain on; write npm start -- --plain.\n')
    })

    it('prints the output of a process that does not start, and stops the others', async () => {
      await using site = await start({ SPOOL_URL: 'file:///dev/null/spool.db' })
      expect(await site.exited).toBe(1)
      expect(site.output()).toContain('culvert tunnel: cannot start, 1 problem(s):\nSPOOL_URL: ')
      expect(site.output()).toMatch(/culvert: tunnel-\d did not start \(exit code 1\)\.\n$/)
    })
  })
})
