/** Alerts of replicas that share a SQLite spool, to real servers. */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { alertTargets } from '../../../../contract/alerts.ts'
import type { Problem } from '../../../../contract/situation/problems.ts'
import { stateOf } from '../../../../contract/situation/situation.ts'
import {
  ALERTS_KEY,
  MAX_MESSAGES,
  NO_ALERTS,
  parseAlerts,
} from '../../../../tunnel/src/admin/alerts/alert-record.ts'
import { Alerts } from '../../../../tunnel/src/admin/alerts/alerts.ts'
import { Senders } from '../../../../tunnel/src/admin/alerts/senders.ts'
import { openSqliteSpool } from '../../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { type Asked, startUpstream } from '../../../support/recording-server.ts'
import { openInThisThread } from '../../../support/spool/same-thread.ts'
import { makeMemoryFolder } from '../../../support/temporary-folder.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const START = Date.UTC(2026, 7, 14, 12)
const BOUNDS = { bytes: 1024 * 1024, addressShare: 1, projectShare: 1 }
const PAUSED: Problem = { kind: 'paused', others: 0, since: START }
const REFUSED: Problem = {
  kind: 'refused',
  refusal: {
    ...{ project: 'sentry.example/1', status: 403, message: 'hush', count: 9, first: START, last: START },
  },
  others: 0,
}
const LOSING: Problem = {
  kind: 'losing',
  losses: { expired: 0, evicted: 0, unavailable: 3, vanished: 0, full_rate: 0 },
}

/** A site with one situation, a server for its alerts, and a shared file that may be away. */
async function startSite() {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeMemoryFolder())
  let now = START
  let problems: Problem[] = []
  let status = 200
  const server = starting.use(
    await startUpstream('alerts', (_, response) => response.writeHead(status).end()),
  )
  const file = join(folder.path, 'spool.db')
  const openSpool = () => openSqliteSpool(file, BOUNDS, undefined, openInThisThread)
  const [first, second] = [await openSpool(), await openSpool()]
  starting.defer(() => Promise.all([first.close(), second.close()]).then(() => undefined))
  let isAway = false
  const failing = async () => {
    throw new Error('the store is away')
  }
  const connect = ({ state }: typeof first) => ({
    clockOffsetMs: () => 0,
    get: (key: string) => (isAway ? failing() : state.get(key)),
    put: (...args: Parameters<typeof state.put>) => (isAway ? failing() : state.put(...args)),
  })
  const logged: object[] = []
  const log = (line: object) => void logged.push(line)
  const senders = new Senders(undefined)
  starting.defer(() => senders.close())
  const open = (replica: 'a' | 'b') =>
    new Alerts({
      targets: alertTargets.parse(`http://${server.address}/hush`, 'ALERT_URL', []) ?? [],
      heartbeat: new URL(`http://${server.address}/beat`),
      ...{ senders: { ...bind(senders), close: async () => {} }, replica, now: () => now },
      state: connect(replica === 'a' ? first : second),
      logger: { info: log, warn: log },
      situation: {
        current: async () => ({
          ...{ state: stateOf(problems), since: START, problems, week: {}, spools: [], incidents: [] },
        }),
      },
    })
  const isBeat = ({ url }: Asked) => url === '/beat'
  const started = starting.move()
  return {
    open,
    logged,
    messages: () => server.asked.filter((each) => !isBeat(each)).map(({ body }) => JSON.parse(String(body))),
    beats: () => server.asked.filter(isBeat).length,
    find(...found: Problem[]) {
      problems = found
    },
    respond(code: number) {
      status = code
    },
    record: async () => parseAlerts((await first.state.get(ALERTS_KEY)).value),
    write: (record: object) => first.state.put(ALERTS_KEY, JSON.stringify(record), 0),
    lose() {
      isAway = true
    },
    /** Lets time pass for replicas that look every 5 s. */
    async live(ms: number, ...replicas: Alerts[]) {
      for (const end = now + ms; now < end; now += 5 * SECOND) for (const each of replicas) await each.look()
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

function bind(senders: Senders): Pick<Senders, 'send' | 'beat'> {
  return { send: (...args) => senders.send(...args), beat: (...args) => senders.beat(...args) }
}

describe('Alerts', () => {
  it('tell of a change once for two replicas, and of its end', async () => {
    await using site = await startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await site.live(MINUTE, a, b)
    site.find(PAUSED)
    await site.live(MINUTE, a, b)
    expect(site.messages()).toMatchObject([
      { state: 'degraded', since: START, problems: [{ kind: 'paused', since: START }] },
    ])
    expect(site.messages()[0].text).toContain(
      'Culvert: Degraded. Delivery from the spool has been paused since 12:00 UTC',
    )
    site.find()
    await site.live(2 * MINUTE, a, b)
    expect(site.messages().slice(1)).toMatchObject([{ state: 'ok', problems: [] }])
  })

  it('do not tell of a problem of some seconds, nor of an end of some seconds', async () => {
    await using site = await startSite()
    const a = site.open('a')
    site.find(PAUSED)
    await site.live(10 * SECOND, a)
    site.find()
    await site.live(MINUTE, a)
    expect(site.messages()).toEqual([])
    site.find(PAUSED)
    await site.live(MINUTE, a)
    for (let n = 0; n < 5; n++) {
      site.find()
      await site.live(30 * SECOND, a)
      site.find(PAUSED)
      await site.live(30 * SECOND, a)
    }
    expect(site.messages()).toHaveLength(1)
  })

  it('tell of a worse state and of another kind of problem, each once', async () => {
    await using site = await startSite()
    const a = site.open('a')
    for (const found of [[PAUSED], [REFUSED], [PAUSED], [REFUSED, PAUSED], [LOSING, PAUSED]]) {
      site.find(...found)
      await site.live(MINUTE, a)
    }
    expect(site.messages().map(({ state }) => state)).toEqual(['degraded', 'degraded', 'outage'])
  })

  it('have no text that a server has written', async () => {
    await using site = await startSite()
    site.find(REFUSED)
    await site.live(MINUTE, site.open('a'))
    expect(site.messages()).toMatchObject([{ problems: [{ kind: 'refused', since: START }] }])
    expect(JSON.stringify(site.messages())).not.toContain('hush')
  })

  it('are sent again until the server accepts them, and then no more', async () => {
    await using site = await startSite()
    const a = site.open('a')
    site.respond(500)
    site.find(PAUSED)
    await site.live(MINUTE, a)
    const attempts = site.messages().length
    expect(attempts).toBeGreaterThan(2)
    expect(attempts).toBeLessThan(8)
    expect(a.warnings()).toEqual([expect.stringMatching(/^An alert does not reach Webhook .+ HTTP 500/)])
    site.respond(200)
    await site.live(5 * MINUTE, a)
    expect(site.messages()).toHaveLength(attempts + 1)
    expect(a.warnings()).toEqual([])
    expect(JSON.stringify(site.logged)).not.toContain('hush')
  })

  it('are sent by another replica when the first one dies', async () => {
    await using site = await startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    site.respond(500)
    site.find(PAUSED)
    await site.live(20 * SECOND, a, b)
    const before = site.messages().length
    expect(before).toBeGreaterThan(0)
    site.respond(200)
    await site.live(2 * MINUTE, b)
    expect(site.messages()).toHaveLength(before + 1)
    await site.live(2 * MINUTE, a, b)
    expect(site.messages()).toHaveLength(before + 1)
  })

  it('are sent at once by another replica when the first one stops', async () => {
    await using site = await startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await site.live(5 * SECOND, a, b)
    await a.stop()
    site.find(PAUSED)
    await site.live(20 * SECOND, b)
    expect(site.messages()).toHaveLength(1)
  })

  /** Lets a problem come and go until no more messages are sent. */
  async function useUp(site: Awaited<ReturnType<typeof startSite>>, a: Alerts): Promise<void> {
    for (let n = 0; n < MAX_MESSAGES / 2; n++) {
      site.find(PAUSED)
      await site.live(20 * SECOND, a)
      site.find()
      await site.live(65 * SECOND, a)
    }
    site.find(PAUSED)
    await site.live(20 * SECOND, a)
    expect(site.messages()).toHaveLength(MAX_MESSAGES)
  }

  it('are a few in a row, then one in ten minutes, if the state is another one by then', async () => {
    await using site = await startSite()
    const a = site.open('a')
    await useUp(site, a)
    await site.live(6 * MINUTE, a)
    expect(site.messages().slice(MAX_MESSAGES)).toMatchObject([{ state: 'degraded' }])
    site.find()
    await site.live(5 * MINUTE, a)
    expect(site.messages()).toHaveLength(MAX_MESSAGES + 1)
    await site.live(6 * MINUTE, a)
    expect(site.messages().slice(MAX_MESSAGES + 1)).toMatchObject([{ state: 'ok' }])
    await site.live(60 * MINUTE, a)
    expect(site.messages()).toHaveLength(MAX_MESSAGES + 2)
  })

  it('tell of an outage and its end within 10 minutes, also when smaller problems have used up the messages', async () => {
    await using site = await startSite()
    const a = site.open('a')
    await useUp(site, a)
    site.find(LOSING)
    await site.live(MINUTE, a)
    expect(site.messages().slice(MAX_MESSAGES)).toMatchObject([{ state: 'outage' }])
    site.find()
    await site.live(70 * SECOND, a)
    expect(site.messages().slice(MAX_MESSAGES + 1)).toMatchObject([{ state: 'ok' }])
    for (const problems of [[LOSING], []]) {
      const before = site.messages().length
      site.find(...problems)
      await site.live(10 * MINUTE, a)
      expect(site.messages().slice(before)).toMatchObject([{ state: stateOf(problems) }])
    }
  })

  it.each<['ok' | 'degraded', Problem[]]>([
    ['ok', []],
    ['degraded', [PAUSED]],
  ])(
    'tell once of the state %s that the previous release recorded without a message',
    async (state, found) => {
      await using site = await startSite()
      const kinds = found.map(({ kind }) => kind)
      await site.write({ ...NO_ALERTS, state, kinds, changed: START, held: 2 })
      site.find(...found)
      await site.live(5 * MINUTE, site.open('a'))
      expect(site.messages()).toMatchObject([{ state }])
      expect(await site.record()).toMatchObject({ state, held: 0 })
    },
  )

  it('tell of a problem that comes and goes within seconds, and not of a limit that holds no errors back', async () => {
    await using site = await startSite()
    const a = site.open('a')
    site.find({ kind: 'rate-limited', limits: [{ category: 'replay', until: START }] })
    await site.live(MINUTE, a)
    expect(site.messages()).toEqual([])
    for (let n = 0; n < 4; n++) {
      site.find(PAUSED)
      await site.live(10 * SECOND, a)
      site.find()
      await site.live(10 * SECOND, a)
    }
    expect(site.messages()).toMatchObject([{ state: 'degraded' }])
  })

  it('are sent by each replica for itself while the shared state is away', async () => {
    await using site = await startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await site.live(MINUTE, a, b)
    site.lose()
    site.find({ kind: 'spool-failing', since: START, is_losing: false })
    await site.live(20 * SECOND, a, b)
    expect(site.messages()).toEqual([])
    await site.live(MINUTE, a, b)
    expect(site.messages().map(({ state }) => state)).toEqual(['degraded', 'degraded'])
  })

  it('are tested with a message of its own, with a result for each destination', async () => {
    await using site = await startSite()
    const a = site.open('a')
    expect(await a.test()).toEqual([{ target: expect.stringMatching(/^Webhook \(127\.0\.0\.1:\d+\)$/) }])
    expect(site.messages()).toMatchObject([{ state: 'test' }])
    site.respond(404)
    expect(await a.test()).toEqual([
      { target: expect.anything(), error: expect.stringContaining('HTTP 404: copy the URL again') },
    ])
  })
})

describe('The heartbeat', () => {
  it('comes from one replica each minute, and stops in an outage', async () => {
    await using site = await startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await site.live(10 * MINUTE, a, b)
    const before = site.beats()
    expect(before).toBe(10)
    site.find(LOSING)
    await site.live(10 * MINUTE, a, b)
    expect(site.beats()).toBe(before)
    site.find(PAUSED)
    await site.live(MINUTE, a, b)
    expect(site.beats()).toBe(before + 1)
  })
})
