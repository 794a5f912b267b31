/** Queries of the figures. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Figures } from '../../../contract/figures.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('GET /figures', () => {
  let scope: AsyncDisposableStack
  let sentry: Sentry
  let tunnel: Tunnel
  let now: number

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    sentry = scope.use(await startSentry())
    tunnel = scope.use(await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } }))
    now = Date.now()
  })

  afterEach(() => scope.disposeAsync())

  const ask = (query: string) => tunnel.admin(`/figures?${query}`)
  const askRange = (from: number, to: number, step: number) => ask(`from=${from}&to=${to}&step=${step}`)

  it('returns what was counted so far, from a multiple of the step', async () => {
    for (let n = 0; n < 2; n++) await post(tunnel.url, { body: errorOf(sentry.dsn()) })
    const response = await askRange(now - HOUR, now + MINUTE, 10 * MINUTE)
    const { points, ...figures }: Figures = await response.json()
    expect(points).toMatchObject([{ received: 2, outcomes: { delivered: 2 }, unknown: 0, pending: 0 }])
    expect(figures).toMatchObject({
      from: Math.floor((now - HOUR) / (10 * MINUTE)) * 10 * MINUTE,
      ...{ to: now + MINUTE, step: 10 * MINUTE, replicas: [{ envelopes: 2 }] },
    })
  })

  it.each([
    ['without to', `from=1&step=${MINUTE}`, 'to and step are required'],
    ['with a time that is no number', `from=NaN&to=2&step=${MINUTE}`, 'from is a whole number'],
    ['with a negative time', `from=-5&to=2&step=${MINUTE}`, 'from is a whole number'],
    ['with an endless time', `from=1&to=Infinity&step=${MINUTE}`, 'to is a whole number'],
    ['with a parameter twice', `from=1&from=1&to=2&step=${MINUTE}`, 'from is given twice'],
  ])('rejects a query %s', async (_, query, detail) => {
    const response = await ask(query)
    expect([response.status, (await response.json()).detail]).toEqual([400, expect.stringContaining(detail)])
  })

  it.each([
    ['a reversed range', [-1, -2, MINUTE], 'to is not after from'],
    ['an empty range', [-1, -1, MINUTE], 'to is not after from'],
    ['a range of more than 7 days', [-7 * DAY - 1, 0, HOUR], 'longer than 7 days'],
    ['a step below a minute', [-HOUR, 0, 1_000], 'at least a minute'],
    ['a step of 0', [-HOUR, 0, 0], 'at least a minute'],
    ['a step that is no multiple of a minute', [-HOUR, 0, 90_000], 'a multiple of one'],
    ['too many points', [-4 * HOUR, 0, MINUTE], 'use a step of 120000 or more'],
    ['a step finer than what is kept', [-3 * HOUR, 0, 2 * MINUTE], 'kept in steps of 600000 only'],
    ['a step finer than what is kept of days ago', [-2 * DAY, -DAY, 30 * MINUTE], 'steps of 3600000 only'],
    ['a range of long ago', [-30 * DAY, -29 * DAY, HOUR], 'kept for 7 days; begin later'],
  ])('rejects %s', async (_, [from = 0, to = 0, step = 0], detail) => {
    const response = await askRange(now + from, now + to, step)
    expect([response.status, (await response.json()).detail]).toEqual([400, expect.stringContaining(detail)])
  })

  it.each([
    [15 * MINUTE, MINUTE],
    [HOUR, MINUTE],
    [DAY, 10 * MINUTE],
    [7 * DAY, HOUR],
  ])('answers a range of %d ms in steps of %d ms', async (range, step) => {
    expect((await askRange(now - range, now, step)).status).toBe(200)
  })

  it('responds with 503 and the reason when the store fails or is slow, and never with zeros', async () => {
    const snapshots = tunnel.services.forwarding?.spool.store.state.snapshots
    if (!snapshots) throw new Error('there is a spool')
    const read = vi.spyOn(snapshots, 'read')
    for (const [result, problem] of [
      [() => Promise.reject(new Error('disk I/O error')), 'disk I/O error'],
      [() => new Promise<never>(() => {}), 'no response within 1 s'],
    ] as const) {
      read.mockImplementation(result)
      const response = await askRange(now - HOUR, now, MINUTE)
      expect([response.status, (await response.json()).detail]).toEqual([
        503,
        `The figures cannot be read now: ${problem}.`,
      ])
    }
  })
})
