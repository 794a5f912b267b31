/** Servers of a DSN that do not accept envelopes, a paused spool and refused mirrors: what the doctor finds. */

import { describe, expect, it } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import { type Diagnosis, runChecks } from '../../../doctor/check.ts'
import { compression, error, keepalive, replay } from '../../../doctor/checks/bodies.ts'
import { mirrors } from '../../../doctor/checks/mirrors.ts'
import { delivery, tunnelState } from '../../../doctor/checks/replicas.ts'
import { page, tunnel as tunnelPath } from '../../../doctor/checks/routes.ts'
import { openDeployment } from '../../../doctor/deployment.ts'
import type { Answering } from '../../support/sentry/responses.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const CHECKS = [page, tunnelPath, error, replay, keepalive, compression, delivery, tunnelState, mirrors]
const HTML = { 'content-type': 'text/html' }

describe('The doctor', () => {
  /** Returns what it finds through the tunnel, with access to the admin port unless it is `outside`. */
  async function diagnose(tunnel: Tunnel, dsn: string, position: 'inside' | 'outside' = 'inside') {
    const deployment = await openDeployment({
      site: tunnel.url,
      path: '/monitoring',
      dsn: parseDsn(dsn),
      filterLists: [],
      closedPorts: [],
      admin: position === 'inside' ? { urls: [tunnel.adminUrl], token: tunnel.token } : undefined,
      env: {},
      json: false,
    })
    return runChecks(CHECKS, deployment)
  }
  const problemsIn = (diagnosis: Diagnosis) =>
    Object.fromEntries(
      diagnosis
        .filter(({ result }) => result === 'warn' || result === 'fail')
        .map(({ name, result, message }) => [name, `${result}: ${message}`]),
    )

  it.each<[what: string, answer: Answering, message: RegExp, remedy: RegExp]>([
    [
      'knows no such key',
      { status: 403, headers: HTML, body: '<h1>403 Forbidden</h1>Project not found or key incorrect' },
      /responds with 403/,
      /key in SENTRY_DSN is wrong/,
    ],
    [
      'declines the key with an answer of Sentry',
      { status: 403, body: { detail: 'event submission rejected with_reason: ProjectId' } },
      /responds with 403 to the error \(“.+ProjectId”\)/,
      /key in SENTRY_DSN is wrong/,
    ],
    [
      'expects another host',
      { status: 400, headers: HTML, body: '<h1>Bad Request (400)</h1>' },
      /responds with 400 to the error\.$/,
      /ALLOWED_HOSTS.*X_FORWARDED_FOR_PROXY_COUNT/,
    ],
    [
      'is no Sentry, and accepts everything',
      { status: 200, headers: HTML, body: '<h1>Welcome to nginx!</h1>' },
      /responds with 200 and a page in HTML/,
      /host and port in SENTRY_DSN/,
    ],
  ])('fails from outside when the server of the DSN %s', async (_, answer, message, remedy) => {
    await using sentry = await startSentry()
    sentry.allowUnexpected()
    sentry.answer(answer)
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
    const diagnosis = await diagnose(tunnel, sentry.dsn(), 'outside')
    expect(diagnosis.filter(({ result }) => result === 'fail')).toMatchObject([
      { name: 'error', message: expect.stringMatching(message), remedy: expect.stringMatching(remedy) },
    ])
  })

  it('warns of a Sentry that is away', async () => {
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
    await sentry.away()
    const diagnosis = await diagnose(tunnel, sentry.dsn())
    const { 'tunnel-state': _, ...found } = problemsIn(diagnosis) // the circuit breaker opens at some point
    const spooled = expect.stringMatching(/^warn: The envelope is spooled/)
    expect(found).toEqual({
      ...{ error: spooled, replay: spooled, keepalive: spooled, compression: spooled },
      delivery: expect.stringMatching(/^warn: The tunnel has spooled the error/),
    })
    const blamed = diagnosis.filter(({ result, remedy }) => result === 'warn' && /proxy/i.test(remedy))
    expect(blamed).toEqual([])
  })

  it('warns of a Sentry that does not accept UPSTREAM_ENCODING', async () => {
    await using sentry = await startSentry()
    sentry.answer(({ headers }) => (headers['content-encoding'] === 'gzip' ? { status: 415 } : {}))
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), UPSTREAM_ENCODING: 'gzip' } })
    expect(problemsIn(await diagnose(tunnel, sentry.dsn()))).toEqual({
      compression: expect.stringMatching(/^warn: .*does not accept gzip/),
      'tunnel-state': expect.stringMatching(/^warn: .*does not accept gzip/),
    })
  })

  it('warns of a paused spool', async () => {
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
    await tunnel.admin('/spool/pause', { method: 'POST' })
    expect(problemsIn(await diagnose(tunnel, sentry.dsn()))).toEqual({
      'tunnel-state': expect.stringMatching(/^warn: .*paused by an operator/),
    })
  })

  it.each<[string, Answering, RegExp]>([
    [
      'declines',
      { status: 400, body: { detail: 'invalid' } },
      /^fail: .*(has declined all envelopes|refuses envelopes \(HTTP 400\))/,
    ],
    ['refuses', { status: 403, body: '<html>Forbidden</html>' }, /^fail: .*refuses envelopes \(HTTP 403\)/],
  ])('names a mirror that %s all envelopes, until it accepts them', async (_, answer, message) => {
    await using sentry = await startSentry()
    await using mirror = await startSentry({ projects: { 77: 'a'.repeat(32) } })
    const MIRROR_DSN = `${sentry.dsn()}->${mirror.dsn('77')}`
    await using tunnel = await openTunnel({
      env: { SENTRY_DSN: sentry.dsn(), MIRROR_DSN, UPSTREAM_LATE_MS: '1000' },
    })
    mirror.answer(answer)
    expect(problemsIn(await diagnose(tunnel, sentry.dsn()))).toEqual({
      mirrors: expect.stringMatching(message),
    })
    mirror.answer({})
    tunnel.advanceClock(10_000) // to the next attempt for this mirror
    await tunnel.retry()
    await expect.poll(async () => problemsIn(await diagnose(tunnel, sentry.dsn()))).toEqual({})
  })
})
