/** Situation that tunnels tell: in each kind of trouble, and through an outage of Sentry. */

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { describeSituation, STATE_WORDS, utcClock } from '../../../contract/situation/describe.ts'
import type { Situation } from '../../../contract/situation/situation.ts'
import { attachmentOf, errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'
import { until } from '../../support/until.ts'

/** After this, a tunnel looks again. */
const PASSED_MS = 2_000

const SPOOL_BYTES = 64 * 1024 * 1024 // the smallest spool

type Scene = Awaited<ReturnType<typeof openScene>>

type Scenario = {
  name: string
  settings?: Record<string, string>
  cause(scene: Scene): Promise<unknown>
  text: RegExp
  state: 'OK' | 'Degraded' | 'Outage'
}

const DECLINE = {
  status: 403,
  headers: { 'content-type': 'application/json' },
  body: '{"detail":"event submission rejected with_reason: ProjectId"}',
}

const SCENARIOS: Scenario[] = [
  {
    name: 'nothing has arrived',
    cause: async () => {},
    text: /^No problems since \d\d:\d\d UTC\. 0 pending\. No action needed\.$/,
    state: 'OK',
  },
  {
    name: 'Sentry answers 503',
    async cause({ sentry, sendMany }) {
      sentry.answer({ status: 503 })
      await sendMany(8, 200)
    },
    text: /^Sentry unreachable since \d\d:\d\d UTC \(.*503.*\)\. \d+ pending\./,
    state: 'Outage',
  },
  {
    name: 'Sentry takes requests and does not answer',
    settings: { UPSTREAM_LATE_MS: '200' },
    async cause({ sentry, send, newError }) {
      sentry.answer('silent')
      await Promise.all(Array.from({ length: 16 }, () => send(newError())))
    },
    text: /^Sentry unreachable since \d\d:\d\d UTC \(.+\)\. \d+ pending\./,
    state: 'Outage',
  },
  {
    name: 'Sentry limits errors',
    async cause({ sentry, sendMany }) {
      sentry.answer('limiting')
      await sendMany(5, 429)
    },
    text: /dropped since \d\d:\d\d UTC\..* Act if it lasts: raise the quota/,
    state: 'Degraded',
  },
  {
    name: 'Sentry declines everything',
    async cause({ sentry, sendMany }) {
      sentry.answer(DECLINE)
      await sendMany(8, 403)
    },
    text: /^\S+ has declined all envelopes of .* since \d\d:\d\d UTC \(HTTP 403: “event submission rejected with_reason: ProjectId”\)\. Declined so far: 8\..* Act now: copy the DSN/,
    state: 'Degraded',
  },
  {
    name: 'the site has a DSN that Culvert does not know',
    cause: ({ sendMany, newError }) => sendMany(80, 403, () => newError('http://key@sentry.example/9')),
    text: /^Culvert has rejected or limited .* The most frequent reason is dsn-unknown\..* Act now: the page Rejections shows/,
    state: 'Degraded',
  },
  {
    name: 'the spool is full',
    settings: { SPOOL_BYTES: `${SPOOL_BYTES}` },
    async cause({ sentry, send }) {
      await sentry.away()
      const statuses = new Set<number>()
      for (let n = 0; n < 20; n++)
        statuses.add((await send(attachmentOf(sentry.dsn(), randomBytes(SPOOL_BYTES / 16)))).status)
      expect([...statuses]).toEqual([200, 503])
    },
    text: /^The spool is full: new reports are being lost, .* a second\. \d+ envelopes lost in the last 3 min\. .*Act now: raise SPOOL_BYTES in \.env, and start Culvert again with npm start\.$/,
    state: 'Outage',
  },
  {
    name: 'an operator has paused the delivery, and nothing arrives',
    async cause({ tunnel }) {
      expect((await tunnel.admin('/spool/pause', { method: 'POST' })).status).toBe(200)
    },
    text: /^Delivery from the spool has been paused since \d\d:\d\d UTC for all projects\. 0 pending\. Act: resume it on the page Spool\.$/,
    state: 'Degraded',
  },
  {
    name: 'one error repeats',
    settings: { STORM_LIMIT: '20' },
    cause: ({ sentry, sendMany }) =>
      sendMany(60, 200, () => errorOf(sentry.dsn(), { message: 'the same one' })),
    text: /^Storm: \d+ identical errors of .* since \d\d:\d\d UTC\..* Act: fix the error/,
    state: 'Degraded',
  },
  {
    name: 'pages of another site report',
    async cause({ send, newError }) {
      for (let n = 0; n < 80; n++)
        expect((await send(newError(), { origin: 'https://other.example' })).status).toBe(403)
    },
    text: /^Culvert has rejected or limited .* The most frequent reason is origin-foreign\..* Act now: the page Rejections shows/,
    state: 'Degraded',
  },
]

describe('The situation of a tunnel', () => {
  it.for(SCENARIOS)('says what is wrong, and what to do, when $name', async (scenario) => {
    const { settings, cause, text, state } = scenario
    await using scene = await openScene(settings)
    await cause(scene)
    await expect.poll(scene.look).toEqual({ state, text: expect.stringMatching(text) })
  })

  it('is without problems again when Sentry accepts what it has declined', async () => {
    await using scene = await openScene()
    scene.sentry.answer(DECLINE)
    await scene.sendMany(8, 403)
    await expect.poll(scene.look).toMatchObject({ state: 'Degraded' })
    scene.sentry.answer({})
    await scene.sendMany(20, 200)
    await expect.poll(scene.look).toMatchObject({ state: 'OK' })
  })
})

async function openScene(settings: Record<string, string> = {}) {
  await using starting = new AsyncDisposableStack()
  const sentry = starting.use(await startSentry())
  const tunnel = starting.use(await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), ...settings } }))
  const started = starting.move()
  const newError = (dsn = sentry.dsn()) => errorOf(dsn, { event_id: randomBytes(16).toString('hex') })
  const send = (body: Buffer, headers: Record<string, string> = {}) => post(tunnel.url, { body, headers })
  return {
    ...{ tunnel, sentry, newError, send },
    /** Sends errors one after the other, and expects this status of each. */
    async sendMany(many: number, status: number, body: () => Buffer = newError): Promise<void> {
      for (let n = 0; n < many; n++) expect((await send(body())).status).toBe(status)
    },
    /** Returns state and sentence, some seconds later. */
    async look(): Promise<{ state: string; text: string }> {
      tunnel.advanceTime(PASSED_MS)
      await tunnel.services.history.record()
      const { situation } = await (await tunnel.admin('/status')).json()
      const { state, text } = describeSituation(situation, utcClock(Date.now()))
      return { state: STATE_WORDS[state], text }
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

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
