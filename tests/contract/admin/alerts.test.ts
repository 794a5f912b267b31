/** Alerts of two tunnels that share a spool, about an outage of Sentry and its end. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startUpstream } from '../../support/recording-server.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'
import { until } from '../../support/until.ts'

/** After this, a tunnel looks again. */
const PASSED_MS = 2_000

it('are sent once, with the text of the banner and nothing of an envelope', async () => {
  await using folder = await makeMemoryFolder()
  await using sentry = await startSentry()
  await using webhook = await startUpstream('webhook')
  const env = {
    SENTRY_DSN: sentry.dsn(),
    SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
    ALERT_URL: `http://${webhook.address}/`,
  }
  await using a = await openTunnel({ env })
  await using b = await openTunnel({ env })
  const messages = () => webhook.asked.map(({ body }) => JSON.parse(String(body)))
  /** Both look again, some seconds later. */
  const look = async () => {
    for (const tunnel of [a, b]) {
      tunnel.advanceTime(PASSED_MS)
      await tunnel.services.history.record()
      await tunnel.services.situation.current()
      await tunnel.services.alerts?.look()
    }
  }
  const haveSent = (count: number) => async () => {
    await look()
    return messages().length >= count
  }
  await look()

  await sentry.away()
  for (let n = 0; n < 10; n++) {
    const body = errorOf(sentry.dsn(), { event_id: String(n).repeat(32), message: 'hush' })
    await post(n % 2 === 0 ? a.url : b.url, { body })
  }
  await until(haveSent(1))
  for (let n = 0; n < 20; n++) await look()
  await sentry.back()
  for (const tunnel of [a, b]) tunnel.advanceClock(10_000) // to the next probe
  await until(haveSent(2))
  for (let n = 0; n < 20; n++) await look()

  expect(messages()).toMatchObject([
    { state: 'outage', problems: [{ kind: 'upstream', text: expect.stringMatching(/^Sentry unreachable/) }] },
    {
      state: 'ok',
      problems: [],
      text: expect.stringMatching(/Last incident: Outage .+ delivered late, 0 lost/),
    },
  ])
  expect(JSON.stringify(messages())).not.toContain('hush')
})
