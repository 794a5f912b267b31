/** Delivery from the spool to a server that responds slower the more requests it has. */

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Config } from '../../../../tunnel/src/config/config.ts'
import { errorOf } from '../../../support/envelopes.ts'
import { post } from '../../../support/post.ts'
import { startSentry } from '../../../support/sentry/sentry.ts'
import { openTunnel } from '../../../support/tunnel/in-process.ts'
import { until } from '../../../support/until.ts'

const ENVELOPES = 40 // twice as many as it takes in time
const ANSWER_MS = 2_000
const MS_EACH = 100

it('envelopes are delivered once to a server with one worker that takes few requests in time', async () => {
  await using sentry = await startSentry()
  sentry.allowAborts()
  const adjust = (config: Config): Config => ({
    ...config,
    upstream: { ...config.upstream, answerMs: ANSWER_MS },
  })
  const env = { SENTRY_DSN: sentry.dsn(), UPSTREAM_LATE_MS: '400' }
  await using tunnel = await openTunnel({ env, adjust })
  const send = (n: number) => post(tunnel.url, { body: errorOf(sentry.dsn(), { n }) })
  await sentry.away()
  for (let n = 0; n < ENVELOPES; n++) expect((await send(n)).outcome).toBe('spooled')
  let worker = Promise.resolve()
  sentry.answer(async () => {
    worker = worker.then(() => sleep(MS_EACH))
    await worker
    return {}
  })
  await sentry.back()
  tunnel.advanceClock(5_000) // to the next probe
  await tunnel.retry()
  await until(async () => (await (await tunnel.admin('/status')).json()).spool.envelopes === 0)
  expect(sentry.requests.length).toBeLessThanOrEqual(ENVELOPES * 1.1) // a busy machine may let a few reach their deadline
})
