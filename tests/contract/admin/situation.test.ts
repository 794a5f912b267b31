/** Situation that tunnels tell, through an outage of Sentry. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import type { Situation } from '../../../contract/situation/situation.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'
import { until } from '../../support/until.ts'

/** After this, a tunnel looks again. */
const PASSED_MS = 2_000

it('tells of an outage on both, counts what was delivered late, and keeps the incident after a restart', async () => {
  await using folder = await makeMemoryFolder()
  await using sentry = await startSentry()
  const env = {
    SENTRY_DSN: sentry.dsn(),
    SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
  }
  await using a = await openTunnel({ env })
  await using b = await openTunnel({ env })
  const read = async (tunnel: typeof a): Promise<Situation> =>
    (await (await tunnel.admin('/status')).json()).situation
  /** Returns the situation on both, some seconds later. */
  const look = async () => {
    for (const tunnel of [a, b]) {
      tunnel.advanceTime(PASSED_MS)
      await tunnel.services.history.record()
    }
    return [await read(a), await read(b)]
  }
  const areIn = (state: Situation['state']) => async () =>
    (await look()).every((each) => each.state === state)
  await until(areIn('ok'))

  await sentry.away()
  for (let n = 0; n < 10; n++) {
    const body = errorOf(sentry.dsn(), { event_id: String(n).repeat(32) })
    await post(n % 2 === 0 ? a.url : b.url, { body })
  }
  await until(areIn('outage'))
  expect((await read(b)).problems).toMatchObject([{ kind: 'upstream', is_total: true, all_replicas: 2 }])
  const metrics = await (await b.admin('/metrics')).text()
  expect(metrics).toContain('culvert_problem{kind="upstream"} 1')
  expect(metrics).toContain('culvert_problem{kind="losing"} 0')

  await sentry.back()
  await until(async () => {
    for (const tunnel of [a, b]) tunnel.advanceClock(10_000) // to the next probe
    const [first] = await look()
    return first?.state === 'ok' && first.incidents[0]?.is_counting === false
  })
  const [{ incidents: [incident] = [] } = {}] = await look()
  expect(incident).toMatchObject({ state: 'outage', kinds: ['upstream'], delivered_late: 10, lost: 0 })
  await a.stop()
  await b.stop()
  await using next = await openTunnel({ env })
  expect((await read(next)).incidents.at(-1)).toEqual(incident)
})
