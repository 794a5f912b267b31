/**
 * The way of a site from its first deploy through changed settings to a rollback, by the commands of the documentation: after each step an
 * error of a real browser arrives. Visitors whose requests must not fail meanwhile have traffic of their own.
 */

import { execFile } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../scripts/start/free-port.ts'
import { SITE_HOST, startChromium, type Visitor } from '../support/browser/chromium.ts'
import { type Clone, makeClone } from '../support/clone.ts'
import { BRIDGE } from '../support/docker/compose.ts'
import { startTraffic } from '../support/docker/traffic.ts'
import { askDoctorIn } from '../support/doctor/doctor.ts'
import { ROOT } from '../support/node.ts'
import { requires } from '../support/requirements.ts'
import { hasItem } from '../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../support/sentry/sentry.ts'
import { until } from '../support/until.ts'
import { signIn } from '../support/web/operator.ts'

const PASSWORD = 'another password of the tests'
const HEALTH = 'tests/support/docker/health.yml'
const DOCS = ['operations', 'storage']
  .map((page) => readFileSync(join(ROOT, `docs/${page}.md`), 'utf8'))
  .join('\n')
const CERTIFICATES = join(ROOT, 'tests/fixtures/tls')
/** Requests of the traffic before and after a step. */
const [BEFORE, AFTER] = [20, 50]
/** Time for a command that may build images on a busy machine, in ms. */
const BUILD_TIMEOUT = 580_000

describe('After each step, errors of browsers arrive, and the doctor finds nothing', {
  ...requires('docker', 'chromium'),
  timeout: 600_000,
}, () => {
  const started = new AsyncDisposableStack()
  const project = `culvert-journey-${randomBytes(4).toString('hex')}`
  let sentry: Sentry
  let clone: Clone
  let visitor: Visitor
  let plainUrl: string
  /** Address of the site for visitors, and the path to which its pages report. */
  let url: string
  let path = '/monitoring'
  let ofProject = '456'
  /** Image of the tunnels before the later revision. */
  let before: string
  /** Responses to the posts of pages, and the paths of these. */
  const answers: string[] = []

  beforeAll(async () => {
    sentry = started.use(await startSentry({ host: BRIDGE, projects: { 456: key('a'), 457: key('b') } }))
    sentry.allowAborts() // tunnels are stopped
    clone = makeClone()
    started.defer(clone.remove)
    const port = await freePort()
    plainUrl = `http://127.0.0.1:${port}`
    url = `http://${SITE_HOST}:${port}`
    set({
      COMPOSE_PROJECT_NAME: project,
      COMPOSE_FILE: `docker-compose.yml:${HEALTH}`,
      HTTP_PORT: String(port),
    })
    set({ EDGE: `10.202.${randomInt(256)}.0/24` }) // of no other project on this engine
    started.defer(removeProject)
    const trusted = readFileSync(join(CERTIFICATES, 'cert.pem'), 'utf8')
    const chromium = started.use(await startChromium({ trusted }))
    visitor = started.use(await chromium.visitor())
    visitor.allowTrouble(/./) // the errors themselves, and requests of pages that are left
    const { page } = visitor
    page.on('response', (response) => {
      if (response.request().method() === 'POST')
        answers.push(`${response.status()} ${new URL(response.url()).pathname}`)
    })
  })

  afterAll(() => started.disposeAsync())

  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') return
    await visitor.page.goto(url)
    await expectReport(`after: ${task.name}`)
    const { code, text } = await askDoctorIn(clone.path, plainUrl, '--password-file')
    expect(text).not.toMatch(/^FAIL/m)
    expect(code).toBe(0)
  })

  /** Throws in the open page. Every report is accepted at the first attempt. */
  async function raise(message: string): Promise<void> {
    answers.length = 0
    await visitor.page.evaluate((text) => {
      setTimeout(() => {
        throw new Error(text)
      })
    }, message)
    await until(async () => answers.length > 0)
  }

  async function expectReport(message: string): Promise<void> {
    await raise(message)
    expect((await arrived(message)).url).toContain(`/api/${ofProject}/`)
    expect(new Set(answers)).toEqual(new Set([`200 ${path}`]))
  }

  const arrived = (message: string) =>
    sentry.next((request) => hasItem('event')(request) && String(request.decoded).includes(message))

  /** Writes lines of `.env`; of two with the same name the last one counts. */
  function set(settings: Record<string, string>): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"\n`)
    appendFileSync(join(clone.path, '.env'), lines.join(''))
  }

  /** Runs a command as a person would in the clone, with none of this process's settings. */
  function run(command: string): Promise<{ stdout: string; stderr: string }> {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, DOCKER_HOST: process.env.DOCKER_HOST }
    const options = { cwd: clone.path, env, timeout: BUILD_TIMEOUT, killSignal: 'SIGKILL' } as const
    return promisify(execFile)('sh', ['-euc', command], options)
  }

  const deploy = () => run('npm run --silent deploy')
  const containers = async (service: string) =>
    (await run(`docker compose ps --quiet ${service}`)).stdout.split('\n').filter(Boolean)
  const image = async () =>
    (await run(`docker inspect --format '{{.Image}}' $(docker compose ps --quiet tunnel) | sort -u`)).stdout
  /** Returns whether nginx has found web and a tunnel, which it looks for every 2 s. */
  const isUp = async () => {
    const posted = fetch(`${plainUrl}${path}`, { method: 'POST', body: '{}' })
    const all = [fetch(`${plainUrl}/console/sign-in`), posted].map((each) => each.catch(() => undefined))
    return (await Promise.all(all)).every((response) => response?.status === 200)
  }

  /** Expects that no request of visitors fails during `step`, and that each envelope they sent arrives. */
  async function withoutInterruption(step: () => Promise<unknown>): Promise<void> {
    const traffic = startTraffic([plainUrl], sentry.dsn('456'))
    await traffic.more(BEFORE)
    await step()
    await traffic.more(AFTER)
    expect(await traffic.end()).toEqual([])
    await until(async () => {
      const ids = new Set(sentry.requests.map(({ header }) => header.event_id))
      return traffic.acknowledged.every((id) => ids.has(id))
    })
  }

  async function removeProject(): Promise<void> {
    await run('docker compose --profile "*" down --volumes --remove-orphans')
    await run(
      `docker image ls --quiet --filter 'reference=${project}-*' | sort -u | xargs -r docker image rm --force`,
    )
  }

  it('the first deploy of README.md', async () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
    const [, block = ''] = /## Deploy[\s\S]*?```sh\n([\s\S]*?)```/.exec(readme) ?? []
    const [, example = ''] = /SENTRY_DSN=(\S+)'/.exec(block) ?? []
    await run(block.replace(example, sentry.dsn('456')))
    await until(isUp)
    expect(await containers('tunnel')).toHaveLength(4)
  })

  it('another path, project, password and number of tunnels: pages that are open use the former ones', async () => {
    set({ OPERATOR_PASSWORD: 'short' })
    await expect(deploy()).rejects.toThrow(/OPERATOR_PASSWORD/)
    set({
      OPERATOR_PASSWORD: PASSWORD,
      TUNNEL_PATHS: '/r7k2|/monitoring',
      SENTRY_DSN: `${sentry.dsn('457')} ${sentry.dsn('456')}`,
      TUNNEL_REPLICAS: '2',
    })
    await withoutInterruption(deploy)
    await expectReport('from a page that was opened before the deploy')
    ;[path, ofProject] = ['/r7k2', '457']
    expect(await containers('tunnel')).toHaveLength(2)
    expect((await signIn(plainUrl, { password: PASSWORD })).cookie).toBeDefined()
    expect((await signIn(plainUrl, { password: 'short' })).cookie).toBeUndefined()
  })

  it('HTTPS with the certificate that the hook of certbot copies, which replaces nginx', async () => {
    const [lineage, folder] = [join(clone.path, 'lineage'), join(clone.path, 'tls')]
    for (const name of ['archive', 'lineage']) mkdirSync(join(clone.path, name))
    for (const [name, file] of [
      ['fullchain', 'cert.pem'],
      ['privkey', 'key.pem'],
    ] as const) {
      copyFileSync(join(CERTIFICATES, file), join(clone.path, `archive/${name}1.pem`))
      symlinkSync(`../archive/${name}1.pem`, join(lineage, `${name}.pem`))
    }
    const tls = { COMPOSE_FILE: `docker-compose.yml:deploy/tls.yml:${HEALTH}` }
    const port = await freePort()
    set({ ...tls, TLS_FOLDER: lineage, HTTPS_PORT: String(port) })
    await expect(deploy()).rejects.toThrow(
      /nothing was built or replaced: TLS_FOLDER \(.+\): fullchain\.pem is a link that leads out of the folder/,
    )
    const [, hook = ''] = /--deploy-hook '(.+)'/.exec(DOCS) ?? []
    await run(`RENEWED_LINEAGE=${lineage}; ${hook.replaceAll('/etc/culvert/tls', folder)}`)
    set({ TLS_FOLDER: folder })
    await deploy()
    url = `https://${SITE_HOST}:${port}`
  })

  it('JetStream, to which the envelopes move that were pending in the SQLite file, and a later revision', async () => {
    before = await image()
    appendFileSync(join(clone.path, 'tunnel/src/main.ts'), '\n// A later revision.\n')
    await withoutInterruption(async () => {
      sentry.answer({ status: 503 })
      await raise('stored by SQLite')
      set({ COMPOSE_PROFILES: 'cluster', SPOOL_URL: 'nats://nats:4222' })
      await deploy()
      sentry.answer({})
      await run(commandOf(/npm run store -- drain \S+/))
      await arrived('stored by SQLite')
    })
    expect(await image()).not.toBe(before)
  })

  it('a backup, the loss of the volume, and the backup on a new one', async () => {
    sentry.answer({ status: 503 })
    await raise('stored by JetStream')
    const volume = `${project}_nats`
    await run(`VOLUME=${volume}; ${commandOf(/^docker compose down\n[\s\S]*?(?=^```)/m)}`)
    await run(`docker volume rm ${volume}`)
    await run(`VOLUME=${volume}; ${commandOf(/^docker compose create[\s\S]*?(?=^```)/m)}`)
    sentry.answer({})
    await until(isUp)
    await arrived('stored by JetStream')
  })

  it('a rollback to the revision before', async () => {
    await withoutInterruption(() => run(commandOf(/npm run deploy -- --rollback/)))
    expect(await image()).toBe(before)
  })
})

/** Returns the command of docs/operations.md or docs/storage.md that matches. */
function commandOf(pattern: RegExp): string {
  const [command] = pattern.exec(DOCS) ?? []
  if (command === undefined) throw new Error(`docs/operations.md and docs/storage.md have no ${pattern}`)
  return command
}

/** Returns a public key of a project. */
function key(digit: string): string {
  return digit.repeat(32)
}
