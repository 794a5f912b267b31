/** Outage of Sentry under load: no acknowledged envelope is lost, and none arrives twice. */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EVENT_ID, envelopeOf } from '../../support/envelopes.ts'
import {
  areOpen,
  checkBooks,
  checkQuietBooks,
  depthOf,
  untilQuietBooks,
} from '../../support/outage/accounting.ts'
import { contentOf } from '../../support/outage/envelope-kinds.ts'
import { p99, settle } from '../../support/outage/reconciliation.ts'
import { startSteadyLoad } from '../../support/outage/steady-load.ts'
import { post } from '../../support/post.ts'
import type { Received } from '../../support/sentry/received-request.ts'
import type { Answer } from '../../support/sentry/responses.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

/** Environment of the full size: OUTAGE_SECONDS=60 OUTAGE_RATE=500 OUTAGE_KILLS=20 */
const SECONDS = Number(process.env.OUTAGE_SECONDS ?? 4)
const RATE = Number(process.env.OUTAGE_RATE ?? 150)
const MINUTE = 60_000
const KILLS = Number(process.env.OUTAGE_KILLS ?? 4)
const KILL_RATE = 100
const IN_HAND = 64 // late attempts of one tunnel
const LATE_MS = 500 // deadline for the response to a browser, shorter than the default

describe('When Sentry is away, two tunnels with one spool', () => {
  let scope = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnels: Tunnel[]
  let untaken: Set<Received>
  let start: () => Promise<Tunnel>

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    const folder = scope.use(await makeMemoryFolder())
    sentry = scope.use(await startSentry())
    untaken = new Set()
    const env = {
      SENTRY_DSN: sentry.dsn(),
      SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
      UPSTREAM_LATE_MS: String(LATE_MS),
    }
    start = () => startTunnel({ env })
    tunnels = await Promise.all([start(), start()])
    scope.defer(async () => void (await Promise.all(tunnels.map((tunnel) => tunnel.stop()))))
  })

  afterEach(() => scope.disposeAsync())

  const urls = () => tunnels.map(({ url }) => url)
  const arrived = () => sentry.requests.filter((received) => !untaken.has(received))
  const silent = (received: Received): Answer => {
    untaken.add(received)
    return 'silent'
  }
  const drained = () => until(async () => (await depthOf(tunnels)) === 0, 2 * MINUTE)

  it(`deliver ${RATE} envelopes a second for ${SECONDS} s once each when it is back`, {
    timeout: 10 * MINUTE,
  }, async () => {
    const load = startSteadyLoad(urls, sentry.dsn(), RATE)
    const look = () => checkBooks(tunnels, load.inHand)
    const goOn = async (seconds: number) => {
      for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(500)) await look()
    }
    await goOn(2)
    const went = performance.now()
    sentry.answer(silent)
    await until(() => areOpen(tunnels))
    const opened = performance.now()
    await goOn(SECONDS / 2)
    await sentry.away()
    await load.pause()
    await checkQuietBooks(tunnels)
    load.resume()
    await goOn(SECONDS / 2)
    sentry.answer({})
    await sentry.back()
    const cameBack = performance.now()
    await goOn(2)
    const answers = await load.end()
    while ((await depthOf(tunnels)) > 0) {
      await look()
      await sleep(500)
    }
    const took = performance.now() - cameBack
    await untilQuietBooks(tunnels)

    const { lost, duplicates, acknowledged, statuses } = settle(answers, arrived())
    const before = answers.filter(({ sentAt }) => sentAt > went && sentAt < opened)
    const after = answers.filter(({ sentAt }) => sentAt > opened && sentAt < cameBack)
    console.log(
      `${acknowledged} acknowledged (${JSON.stringify(statuses)}), all delivered ${(took / 1000).toFixed(1)} s after Sentry's return`,
      `p99 of answers before the breakers opened ${p99(before)}, after ${p99(after)}; ${duplicates} came twice; at most ${load.most()} in hand`,
    )
    expect({ lost, duplicates }).toEqual({ lost: [], duplicates: 0 })
    expect(Object.keys(statuses).toSorted()).toEqual(['200', '200 spooled'])
  })

  it('deliver five segments of one replay, twenty sessions without an ID, and a repeated envelope once', async () => {
    await sentry.away()
    const segment = (n: number) =>
      envelopeOf({ event_id: EVENT_ID, dsn: sentry.dsn() }, [
        { header: { type: 'replay_event' }, payload: `{"replay_id":"${EVENT_ID}","segment_id":${n}}` },
        { header: { type: 'replay_recording', length: 4 }, payload: Buffer.from([n, 0, 10, 255]) },
      ])
    const session = (n: number) =>
      envelopeOf({ dsn: sentry.dsn() }, [{ header: { type: 'session' }, payload: `{"seq":${n}}` }])
    const bodies = [
      ...Array.from({ length: 5 }, (_, n) => segment(n)),
      ...Array.from({ length: 20 }, (_, n) => session(n)),
    ]
    const again = session(7)
    for (const [i, body] of [...bodies, again].entries())
      expect((await post(urls()[i % 2] ?? '', { body })).outcome).toBe('spooled')
    expect(await depthOf(tunnels)).toBe(25)
    await checkQuietBooks(tunnels)
    await sentry.back()
    await drained()
    const contents = arrived().map(({ decoded }) => contentOf(decoded))
    expect(contents.toSorted()).toEqual(bodies.map(contentOf).toSorted())
  })

  it(`deliver all acknowledged envelopes when one of them is killed, ${KILLS} times`, {
    timeout: 10 * MINUTE,
  }, async () => {
    const load = startSteadyLoad(urls, sentry.dsn(), KILL_RATE)
    sentry.allowAborts()
    await sentry.away()
    for (let kill = 0; kill < KILLS; kill++) {
      if (kill === KILLS - 3) await sentry.back() // and during the delivery from the spool
      await sleep(Math.random() * 1500)
      const index = Math.floor(Math.random() * 2)
      const [victim] = tunnels.splice(index, 1)
      await victim?.kill()
      tunnels.push(await start())
    }
    const answers = await load.end()
    await drained()
    const { lost, duplicates, acknowledged, statuses } = settle(answers, arrived())
    console.log(`${acknowledged} acknowledged (${JSON.stringify(statuses)}), ${duplicates} came twice`)
    expect(lost).toEqual([])
    expect(duplicates).toBeLessThanOrEqual(IN_HAND * 3) // envelopes that a killed tunnel had sent but not finished
  })
})
