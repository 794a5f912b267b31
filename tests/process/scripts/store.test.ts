/** `npm run store`, which lists dead letters and sends them again through a tunnel's admin port. */

import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { errorOf } from '../../support/envelopes.ts'
import { ENVIRONMENT, NODE, ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'

const run = promisify(execFile)
const EVENT = 'fc6d8c0c43fc4630ad850ee518f1b9d0'
const PASSWORD = 'password of the tests'

type Outcome = { code?: number; stdout: string; stderr: string }

describe('npm run store', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel
  let passwordFile: string

  beforeAll(async () => {
    const folder = started.use(await makeFolder())
    passwordFile = join(folder.path, 'password')
    await writeFile(passwordFile, `${PASSWORD}\n`)
    sentry = started.use(await startSentry())
    await sentry.away()
    const env = { SENTRY_DSN: sentry.dsn(), ADMIN_TOKEN: '', OPERATOR_PASSWORD: PASSWORD, KEEP_HOURS: '1' }
    tunnel = started.use(await startTunnel({ env }))
    await post(tunnel.url, { body: errorOf(sentry.dsn(), { event_id: EVENT }) })
  })

  afterAll(() => started.disposeAsync())

  const command = (...args: string[]): Promise<Outcome> =>
    run(NODE, ['scripts/store.ts', ...args], { cwd: ROOT, env: { ...ENVIRONMENT, PATH: '' } }).catch(
      (failure) => failure,
    )
  const store = (...args: string[]) =>
    command(...args, '--admin', tunnel.adminUrl, '--password-file', passwordFile)

  it('lists, counts and resends what Sentry declined, and finds an event', async () => {
    expect((await store('list', '--state', 'pending')).stdout).toContain(EVENT)
    expect((await store('list', '--state', 'declined')).stdout).toBe('There are none.\n')
    expect((await store('status')).stdout).toBe('No envelopes were sent again yet.\n')
    sentry.answer({ status: 403, body: { detail: 'bad\u0007 key' } })
    await sentry.back()
    await expect.poll(async () => (await store('list')).stdout, { timeout: 30_000 }).toContain('Sentry: 403')
    const { stdout } = await store('list', '--state', 'declined', '--from', '2026-01-01')
    expect(stdout).toContain(`event ${EVENT}  Sentry: 403`)
    expect(stdout).not.toContain('\u0007')
    expect((await store('find', EVENT)).stdout).toMatch(
      /spooled .*sender: 200 {2}Sentry: \w+.*\n.* declined /s,
    )
    expect((await store('find', 'f'.repeat(32))).stdout).toContain('No tunnel has seen it since')

    sentry.answer({})
    const selection = ['--state', 'declined', '--from', '2026-01-01T00:00Z', '--to', String(Date.now())]
    expect((await store('resend', ...selection, '--dry-run')).stdout).toMatch(/^1 envelope .* matches/)
    expect((await store('list', '--state', 'declined')).stdout).toContain(EVENT)
    const before = sentry.requests.length
    expect((await store('resend', ...selection)).stdout).toMatch(/^1 envelope .* being sent again/)
    await expect.poll(() => sentry.requests.length).toBe(before + 1)
    await expect.poll(async () => (await store('status')).stdout).toMatch(/^1 of 1 envelopes .* finished at/)
    await expect.poll(async () => (await store('find', EVENT)).stdout).toMatch(/ delivered .* Sentry: 200 /)
    expect((await store('erase', '--user', 'nobody', '--dry-run')).stdout).toMatch(
      /^0 of \d+ envelopes name this user\. Nothing was removed\.\n/,
    )
    expect((await store('erase')).stderr).toContain('erase needs --user')
    const { final_outcomes: outcomes } = JSON.parse((await store('find', EVENT, '--json')).stdout)
    expect(outcomes).toContainEqual(expect.objectContaining({ final_outcome: 'delivered' }))
    const inTime = { timeout: 30_000 }
    const resendKept = async () => (await store('resend', '--state', 'kept')).stdout
    await expect.poll(resendKept, inTime).toMatch(/^1 envelope .* is being sent again/)
    const job = async () => JSON.parse((await store('status', '--json')).stdout).job
    await expect.poll(job, inTime).toMatchObject({ state: 'kept', sent: 1, finished: expect.any(Number) })
    expect(await resendKept()).toMatch(/^No other envelope matches.*\n1 left out: .*--id/)
    expect((await store('stop')).stderr).toContain('No entries are being sent again')
  })

  it('names the inbox where it has taken the place of Sentry', async () => {
    await using own = await startTunnel({ env: { ADMIN_TOKEN: '', OPERATOR_PASSWORD: PASSWORD } })
    await post(own.url, { body: errorOf(INBOX_DSN, { event_id: EVENT }) })
    const access = ['--admin', own.adminUrl, '--password-file', passwordFile]
    expect((await command('list', '--state', 'kept', ...access)).stdout).toContain('inbox: 200')
  })

  it.each([
    [['list', '--state', 'lost'], 'state is one of pending, declined, expired, evicted, kept'],
    [['list', '--from', '2026-01-02', '--to', '2026-01-01'], '--from is later than --to'],
    [['list', '--from', '2026-01-01T00:00'], '--from: "2026-01-01T00:00" is not a time'],
    [['resend'], 'resend needs --state'],
    [['resend', '--state', 'kept', '--id', `7-${'0'.repeat(32)}`], 'exclude each other'],
    [['resend', '--state', 'evicted'], 'only a line is left'],
    [['resend', '--id', '7'], 'npm run store -- list shows them'],
    [['resend', '--id', `7-${'0'.repeat(32)}`], 'The entry is gone. npm run store -- list'],
    [['resend', '--state', 'declined', '--limit', 'all'], '--limit: "all" is not a whole number'],
    [['find'], 'name list, find EVENT_ID'],
  ])('explains why %j does not work', async (args, reason) => {
    const { code, stderr } = await store(...args)
    expect(code).toBe(1)
    expect(stderr).toContain(reason)
  })

  it('explains a port without a tunnel, and a wrong secret', async () => {
    const secret = ['--password-file', passwordFile]
    const nowhere = await command('list', '--admin', 'http://127.0.0.1:9', ...secret)
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('127.0.0.1:9') })
    const wrong = ['--token-file', passwordFile, '--admin', tunnel.adminUrl]
    expect((await command('list', ...wrong)).stderr).toContain('the password or token is wrong')
  })
})
