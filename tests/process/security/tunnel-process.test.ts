/**
 * Attacks on a tunnel process with the heap limit of the shipped container: expensive ones 32 at once, and uploads that stay open. One request
 * of each other kind is in `tests/process/security/single-attacks.test.ts`.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requires } from '../../support/requirements.ts'
import { send } from '../../support/security/attack.ts'
import { findEntry, HELD, PROVEN } from '../../support/security/corpus.ts'
import { type CountingSentry, startCountingSentry } from '../../support/security/counting-sentry.ts'
import { type SmallTunnel, startSmallTunnel } from '../../support/security/small-tunnel.ts'
import { attackTogether, type Cost, describeCosts, type Target } from '../../support/security/withstand.ts'
import { until } from '../../support/until.ts'

const TOGETHER = 32
const HALF_OPEN = 500 // sent to one tunnel directly; nginx, which buffers bodies, gets 2,000 in through-nginx.test.ts

const DEADLINE_MS = 10_000
const MOST_BOMBS = 12 // bodies of 104 MB, each within 1 s: far more than the burst of bytes of an address

const SPOOLED = ['br bomb, valid DSN', 'br bomb, valid DSN, reserved key'].map(findEntry)
const MAX_BYTES = 104_857_600 // MAX_ENVELOPE_BYTES

const WORST = [
  ...PROVEN,
  ...HELD,
  ...[
    'event of 1 MB: distinct keys',
    'event of 1 MB: deep arrays',
    '1,000,000 items',
    'a first line of 100 MB',
  ].map(findEntry),
]

describe('The tunnel process with the heap of the image', requires('proc'), () => {
  const started = new AsyncDisposableStack()
  const costs: Cost[] = []
  let sentry: CountingSentry

  beforeAll(async () => {
    sentry = started.use(await startCountingSentry())
  })

  afterAll(async () => {
    console.log(describeCosts(costs))
    await started.disposeAsync()
  })

  it.each(WORST)(
    'survives 32 at the same time, while valid envelopes are answered: $name',
    async ({ build }) => {
      await using tunnel = await start()
      expect(record(await attackTogether(targetOf(tunnel), await build(dsns()), TOGETHER))).toEqual([])
    },
  )

  it('survives 500 half-open uploads, while valid envelopes are answered', async () => {
    await using tunnel = await start()
    const attack = await findEntry('half-open upload').build(dsns())
    expect(record(await attackTogether(targetOf(tunnel), attack, HALF_OPEN))).toEqual([])
  })

  it('returns 429 to an address whose decompressed bodies exceed its limit of bytes', async () => {
    await using tunnel = await start()
    const attack = await findEntry('br bomb, valid DSN').build(dsns())
    const statuses: number[] = []
    for (let n = 0; n < MOST_BOMBS && !statuses.includes(429); n++) {
      const headers = { 'x-forwarded-for': '8.8.8.8' }
      statuses.push((await send(tunnel.url, attack, { deadlineMs: DEADLINE_MS, headers })).status)
    }
    expect(statuses.at(-1)).toBe(429)
    const other = { deadlineMs: DEADLINE_MS, headers: { 'x-forwarded-for': '9.9.9.9' } }
    expect(await send(tunnel.url, attack, other)).toMatchObject({ status: 200 })
  })

  describe('with spooled bodies', () => {
    let tunnel: SmallTunnel

    beforeAll(async () => {
      tunnel = await start()
    })

    afterAll(() => tunnel?.[Symbol.asyncDispose]())

    it.each(SPOOLED)('delivers one uncompressed, within MAX_ENVELOPE_BYTES: $name', async ({ build }) => {
      const attack = await build(dsns())
      sentry.status = 503
      sentry.largest = 0
      const { status } = await send(tunnel.url, attack, { deadlineMs: DEADLINE_MS })
      sentry.status = 200
      expect(status).toBe(200)
      await until(async () => (await (await tunnel.admin('/status')).json()).spool.envelopes === 0)
      expect(sentry.largest).toBeLessThanOrEqual(MAX_BYTES)
    })
  })

  const dsns = () => ({ valid: sentry.dsn, foreign: sentry.foreignDsn })

  const start = () => startSmallTunnel(sentry.dsn)

  const targetOf = (tunnel: SmallTunnel): Target => ({ ...tunnel, sentry })

  /** Returns the guarantees that did not hold. */
  function record(cost: Cost): string[] {
    costs.push(cost)
    return cost.faults
  }
})
