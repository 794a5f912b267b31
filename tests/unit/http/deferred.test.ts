/** Envelopes that get 503, and that their sender keeps. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { attachmentOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { hasItem } from '../../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const MIB = 1024 * 1024

describe('An envelope that neither Sentry nor the spool has taken', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel
  let body: Buffer

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    tunnel = started.use(await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), SPOOL_BYTES: String(MIB) } }))
    body = attachmentOf(sentry.dsn(), Buffer.alloc(2 * MIB))
  })
  beforeEach(() => sentry.away())
  afterAll(() => started.disposeAsync())

  /** Posts it, and returns the response with the outcome in its receipt. */
  async function postTo(path: string) {
    const { status, json, headers } = await post(tunnel.url, { path, body })
    const receipt = tunnel.services.receipts.find(String(headers['x-culvert-receipt']))
    return { status, json, outcome: receipt?.outcome, reason: receipt?.reason }
  }

  /** Returns the reasons in the client reports that Sentry gets when it is back. */
  async function reportedReasons(): Promise<string[]> {
    await sentry.back()
    sentry.requests.length = 0
    await tunnel.services.reports.flush()
    const payloads = sentry.requests.filter(hasItem('client_report')).flatMap(({ items }) => items)
    return payloads.flatMap(({ payload }) =>
      JSON.parse(String(payload)).discarded_events.map(({ reason }: { reason: string }) => reason),
    )
  }

  it.each(['/monitoring?p=456&keep=1', '/monitoring?keep=1', '/monitoring?keep=1&p=456'])(
    'is deferred at %s, since its sender keeps it, and no loss is reported',
    async (path) => {
      expect(await postTo(path)).toMatchObject({
        status: 503,
        json: { code: 'spool-full' },
        outcome: 'deferred',
        reason: 'spool-full',
      })
      expect(await reportedReasons()).toEqual([])
    },
  )

  it.each(['/monitoring?p=456', '/monitoring?p=456&keep=0', '/monitoring?p=456&xkeep=1'])(
    'is rejected at %s, and Sentry is told of the loss',
    async (path) => {
      expect(await postTo(path)).toMatchObject({ status: 503, outcome: 'rejected', reason: 'spool-full' })
      expect(await reportedReasons()).toEqual(expect.arrayContaining(['queue_overflow']))
    },
  )

  it('is rejected for another reason than 503, even if its sender keeps it', async () => {
    const { status, headers } = await post(tunnel.url, { path: '/monitoring?keep=1', body: 'no envelope' })
    expect(status).toBe(400)
    expect(tunnel.services.receipts.find(String(headers['x-culvert-receipt']))?.outcome).toBe('rejected')
  })

  it('is rejected for a cause that does not pass, even if its sender keeps it', async () => {
    await using folder = await makeFolder()
    const bodies = join(folder.path, 'bodies')
    await using broken = await openTunnel({
      env: { SENTRY_DSN: sentry.dsn(), BODY_DIR: bodies, MAX_ENVELOPE_BYTES: String(20 * MIB) },
    })
    await rm(bodies, { recursive: true })
    const { json, headers } = await post(broken.url, {
      path: '/monitoring?keep=1',
      body: attachmentOf(sentry.dsn(), Buffer.alloc(17 * MIB)),
    })
    expect(json).toMatchObject({ code: 'tunnel-failed' })
    expect(broken.services.receipts.find(String(headers['x-culvert-receipt']))?.outcome).toBe('rejected')
  })

  it('has one outcome for each post', async () => {
    const before = await countOutcomes()
    for (const path of ['/monitoring?keep=1', '/monitoring', '/monitoring?keep=1']) await postTo(path)
    const after = await countOutcomes()
    expect(after.all - before.all).toBe(3)
    expect(after.deferred - before.deferred).toBe(2)
  })

  async function countOutcomes() {
    const { outcomes } = await tunnel.services.metrics.figures()
    const sumOf = (all: typeof outcomes) => all.reduce((sum, { count }) => sum + count, 0)
    return { all: sumOf(outcomes), deferred: sumOf(outcomes.filter(({ outcome }) => outcome === 'deferred')) }
  }

  it('reaches Sentry without the query of the tunnel', async () => {
    await sentry.back()
    tunnel.advanceClock(60_000) // the circuit breaker allows a probe
    const { status } = await post(tunnel.url, { path: '/monitoring?p=456&keep=1', body })
    expect(status).toBe(200)
    expect((await sentry.next(hasItem('attachment'))).url).not.toContain('keep')
  })
})
