/** Delivery of spool entries with backoff, in order, each to one final outcome, with an injected clock. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseDsn } from '../../../../contract/dsn.ts'
import type { Pieces } from '../../../../tunnel/src/envelope/body/bodies.ts'
import type { OutgoingBody } from '../../../../tunnel/src/envelope/body/outgoing.ts'
import { Deliverer } from '../../../../tunnel/src/forward/delivery/delivery.ts'
import { UpstreamLimits } from '../../../../tunnel/src/forward/limits/upstream-limits.ts'
import {
  type DeliveryResult,
  NOT_SENT,
  UNREADABLE,
  type UpstreamRequest,
} from '../../../../tunnel/src/forward/upstream/request.ts'
import { type Transport, UpstreamClient } from '../../../../tunnel/src/forward/upstream/upstream-client.ts'
import { createFinalOutcomes } from '../../../../tunnel/src/observe/final-outcomes.ts'
import { ClientReports } from '../../../../tunnel/src/pipeline/client-reports.ts'
import { createProjects } from '../../../../tunnel/src/pipeline/projects.ts'
import type { Lease, SpoolEntry } from '../../../../tunnel/src/pipeline/spool.ts'
import { envelopeOf } from '../../../support/envelopes.ts'
import { parseEnvelope } from '../../../support/sentry/received-request.ts'
import { inOne, OTHER_PROJECT, PROJECT, spoolEntryOf } from '../../../support/spool/entries.ts'
import { createMemorySpool, type MemorySpool } from '../../../support/spool/memory-spool.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const MAX_AGE = 60 * MINUTE
const DAY = 24 * 60 * MINUTE
const LATE = 2 * SECOND
const OVER_THE_TICK = 200 // the deliverer polls every 100 ms

type Attempt = { at: number; body: Buffer; headers: string[]; project: string }
type End = { key: string; end: string; status: number | undefined; reason?: string; message?: string }

describe('Deliverer', () => {
  let spool: MemorySpool
  let deliverer: Deliverer
  let limits: UpstreamLimits
  let attempts: Attempt[]
  let ends: End[]
  let faults: unknown[]
  let notices: string[]
  let answer: (attempt: Attempt) => Answer | Promise<Answer>
  let upstreams: UpstreamClient
  let probes: number
  let spareConnections: () => number
  /** Milliseconds by which the wall clock was set. */
  let steppedMs: number
  let spoolFaults: unknown[]
  let maxAge: number

  const dsns = [PROJECT, OTHER_PROJECT].flatMap((text) => parseDsn(text) ?? [])
  const mirrored = parseDsn('https://key@mirror.example/7')
  const mirrors = dsns.flatMap((source) => (mirrored ? { source, target: mirrored } : []))
  const projects = createProjects(dsns, mirrors)

  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2026, 7, 14, 12) })
    spool = createMemorySpool(Date.now)
    limits = new UpstreamLimits(Date.now)
    attempts = []
    ends = []
    faults = []
    answer = () => answered(200)
    const settings = {
      connectMs: 10 * SECOND,
      answerMs: 10 * SECOND,
      lateMs: LATE,
      connections: 64,
      proxies: undefined,
    }
    const clock = () => performance.now()
    upstreams = new UpstreamClient(projects.destinations, settings, limits, clock, () => {}, openTransport)
    probes = 0
    spareConnections = () => 64
    vi.spyOn(upstreams, 'spareConnections').mockImplementation(() => spareConnections())
    steppedMs = 0
    notices = []
    spoolFaults = []
    maxAge = MAX_AGE
    deliverer = new Deliverer({
      spool,
      projects,
      limits,
      upstreams,
      get maxAgeMs() {
        return maxAge
      },
      ...{ now: () => Date.now() + steppedMs, clock: () => performance.now(), random: () => 1 },
      onNotice: (notice) => notices.push(notice),
      onSpoolFault: (error) => spoolFaults.push(error),
    })
  })

  afterEach(async () => {
    const stopped = deliverer.stop()
    await upstreams.close()
    await vi.runAllTimersAsync()
    await stopped
    vi.useRealTimers()
    expect(faults).toEqual([])
  })

  /** Returns connections to a Sentry that answers as the test says. */
  function openTransport(): Transport {
    return {
      dispatch({ path, body, headers }, request) {
        const { key = '' } = projects.destinations.find(({ endpoint }) => endpoint === path) ?? {}
        const bytes = bytesOf(body as Buffer | Pieces)
        const attempt = { at: Date.now(), body: bytes, headers: headers as string[], project: key }
        if (bytes.includes('"client_report"')) probes++
        else attempts.push(attempt)
        request.onRequestStart(CONTROLLER)
        void Promise.resolve(answer(attempt)).then((result) => respond(request, result))
      },
      destroy: async () => {},
    }
  }

  const start = () =>
    deliverer.start({
      onFinalOutcome: ({ key }, end, status, reason, message) =>
        ends.push({
          ...{ key, end, status },
          ...(reason !== undefined && { reason }),
          ...(message !== undefined && { message }),
        }),
      onError: (error) => faults.push(error),
      onSettled: () => {},
    })
  /** Lets Sentry refuse connections, and the breaker open. */
  async function goAway(): Promise<void> {
    answer = () => undecided(undefined)
    for (let i = 0; i < 5; i++) await send().final
    attempts = []
  }
  /** Sends an envelope of a visitor. */
  function send() {
    const [project] = projects.all
    if (!project) throw new Error('there is no project')
    const body = Buffer.from('live')
    const outgoing: OutgoingBody = { content: () => [body], bytes: body.length, encoding: 'identity' }
    return upstreams.send(project, outgoing, [], { network: '' })
  }
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
  /** Starts the deliverer, and lets time pass. */
  const run = (ms: number) => {
    start()
    return pass(ms)
  }
  /** Returns the milliseconds between the attempts. */
  const gaps = () => attempts.slice(1).map(({ at }, i) => at - (attempts[i]?.at ?? 0))

  it('delivers an entry with the headers of its sender, and changes only sent_at in the body', async () => {
    const sent = '2026-08-14T11:59:58.000Z'
    const body = (sentAt: string) =>
      envelopeOf({ sent_at: sentAt }, [{ header: { type: 'x' }, payload: '\0\xff' }])
    const entry = await spool.add(body(sent))
    await pass(10 * MINUTE)
    await run(SECOND)
    expect(attempts).toHaveLength(1)
    const late = (attempts[0]?.at ?? 0) - entry.received
    expect(attempts[0]?.body).toEqual(body(new Date(Date.parse(sent) + late).toISOString()))
    expect(attempts[0]?.headers).toEqual(expect.arrayContaining(entry.headers))
    expect(ends).toEqual([{ key: entry.key, end: 'delivered', status: 200 }])
    expect(spool.entry()).toEqual([])
  })

  it('ends an entry that Sentry declines, without a retry', async () => {
    answer = () => answered(403)
    const { key } = await spool.add()
    await run(MINUTE)
    expect(attempts).toHaveLength(1)
    expect(ends).toEqual([{ key, end: 'declined', status: 403 }])
    expect(spool.endings.get(key)).toMatchObject({ state: 'declined', status: 403 })
    expect(spool.entry()).toEqual([])
  })

  it('retries after 2 s, doubled each time up to 10 s', async () => {
    answer = () => undecided(503)
    await spool.add()
    await run(2 * MINUTE)
    for (const [i, second] of [2, 4, 8, 10].entries()) {
      expect(gaps()[i]).toBeGreaterThanOrEqual(second * SECOND)
      expect(gaps()[i]).toBeLessThanOrEqual(second * SECOND + OVER_THE_TICK)
    }
  })

  it('waits for Retry-After, at most a minute', async () => {
    answer = () => ({ status: 503, headers: { 'retry-after': '3600' } })
    await spool.add()
    await run(55 * SECOND)
    expect(attempts).toHaveLength(1)
    await pass(10 * SECOND)
    expect(attempts).toHaveLength(2)
  })

  /** Adds an envelope that Sentry accepts every 20 s. */
  async function passWithOthers(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 20 * SECOND) {
      await spool.add(Buffer.from(`honest ${passed}`))
      await pass(20 * SECOND)
    }
  }
  const attemptsWith = (text: string) => attempts.filter(({ body }) => body.includes(text)).length
  /** Tells entries of others, and probes, from those that the test is about. */
  const isHonest = ({ body }: Attempt) => body.includes('honest') || body.includes('"client_report"')
  const endOf = (key: string) => ends.find((end) => end.key === key)

  it.each([500, undefined])(
    'retries an entry that alone gets %s ever more rarely, until it expires',
    async (status) => {
      maxAge = 2 * 60 * MINUTE
      answer = (attempt) => (isHonest(attempt) ? answered(200) : status ? undecided(status) : RESET)
      const { key } = await spool.add(Buffer.from('poison'))
      start()
      await passWithOthers(55 * MINUTE)
      expect(attemptsWith('poison')).toBeLessThan(50)
      await passWithOthers(64 * MINUTE)
      expect(endOf(key)).toBeUndefined()
      await passWithOthers(2 * MINUTE)
      expect(endOf(key)).toEqual({ key, end: 'expired', status: undefined })
    },
  )

  it.each<[string, entries: number, (n: number) => Answer]>([
    ['503', 10, () => undecided(503)],
    ['no connection', 1, () => undecided(undefined)], // nothing of it was sent
    ['pages with 404 and 503 in turn', 1, (n) => (n % 2 ? refused(404, 'Not found') : undecided(503))],
  ])(
    'keeps entries that alone get %s for hours, and delivers them when Sentry accepts them',
    async (_, entries, answerTo) => {
      maxAge = DAY
      answer = (attempt) => (isHonest(attempt) ? answered(200) : answerTo(attemptsWith('unlucky')))
      const keys: string[] = []
      for (let i = 0; i < entries; i++) keys.push((await spool.add(Buffer.from(`unlucky ${i}`))).key)
      start()
      await passWithOthers(2 * 60 * MINUTE)
      answer = () => answered(200)
      await passWithOthers(3 * MINUTE)
      expect(keys.map((key) => endOf(key)?.end)).toEqual(keys.map(() => 'delivered'))
    },
  )

  it('delivers an entry right before it expires that has failed a few times while others passed', async () => {
    const { key } = await spool.add(Buffer.from('unlucky'))
    spareConnections = () => 0
    await run(MAX_AGE - 3 * MINUTE)
    spareConnections = () => 64
    answer = (attempt) => (isHonest(attempt) || attemptsWith('unlucky') > 3 ? answered(200) : undecided(503))
    await passWithOthers(2 * MINUTE)
    expect(endOf(key)).toMatchObject({ end: 'delivered' })
  })

  it('declines no entry for a few refusals, however long they take', async () => {
    maxAge = DAY
    answer = () => refused(403, 'Busy')
    const { key } = await spool.add()
    start()
    for (let i = 0; i < 4; i++) {
      spareConnections = () => 64
      await pass(SECOND)
      spareConnections = () => 0
      await pass(25 * MINUTE)
    }
    expect(endOf(key)).toBeUndefined()
  })

  it('loses nothing in hours in which at random three of five requests fail', async () => {
    maxAge = DAY
    const draw = randomOf(42)
    answer = () => (draw() < 0.4 ? answered(200) : draw() < 0.5 ? undecided(503) : refused(403, 'Busy'))
    for (let i = 0; i < 100; i++) await spool.add()
    start()
    await passWithOthers(90 * MINUTE)
    answer = () => answered(200)
    await pass(5 * MINUTE)
    expect(spool.entry()).toEqual([])
    expect(ends.filter(({ end }) => end !== 'delivered')).toEqual([])
  })

  it('retries an entry that is refused ever more rarely, and declines it after an hour with the response', async () => {
    maxAge = DAY
    answer = (attempt) => (isHonest(attempt) ? answered(200) : refused(403, 'Forbidden'))
    const { key } = await spool.add(Buffer.from('poison'))
    await run(5 * SECOND)
    expect(attemptsWith('poison')).toBeGreaterThan(1) // the first retry comes soon
    await passWithOthers(55 * MINUTE)
    expect(endOf(key)).toBeUndefined()
    await passWithOthers(10 * MINUTE)
    expect(endOf(key)).toEqual({ key, end: 'declined', status: 403, message: 'Forbidden' })
    expect(attemptsWith('poison')).toBeLessThan(50)
  })

  it('declines no entry of a project that gets 500 for all of them, sends probes, and delivers all when it passes', async () => {
    maxAge = DAY
    answer = ({ project }) => (project === PROJECT ? undecided(500) : answered(200))
    for (let i = 0; i < 60; i++) await spool.add()
    start()
    const ofOther = async () => {
      await spool.add(undefined, { project: OTHER_PROJECT })
      await pass(20 * SECOND)
    }
    for (let i = 0; i < 200; i++) await ofOther() // more than an hour
    expect(ends).toHaveLength(200)
    const failed = attempts.filter(({ project }) => project === PROJECT).length
    expect(failed).toBeLessThan((70 * MINUTE) / (4 * SECOND))
    answer = () => answered(200)
    await pass(30 * SECOND)
    expect(ends).toHaveLength(260)
  })

  it('sends only probes of a project that is refused for hours, delivers entries of others, and all when it is accepted', async () => {
    maxAge = DAY
    answer = ({ project }) => (project === PROJECT ? refused(403, 'Project not found') : answered(200))
    for (let i = 0; i < 100; i++) await spool.add()
    await run(10 * MINUTE)
    expect(attempts.length).toBeLessThan(150)
    await pass(170 * MINUTE)
    const other = await spool.add(undefined, { project: OTHER_PROJECT })
    await pass(5 * SECOND)
    expect(ends).toEqual([{ key: other.key, end: 'delivered', status: 200 }])
    answer = () => answered(200)
    await pass(30 * SECOND)
    expect(ends).toHaveLength(101)
  })

  it('delivers while a slow store ends expired entries', async () => {
    const expire = spool.expire.bind(spool)
    spool.expire = async (before) => {
      await new Promise((resolve) => setTimeout(resolve, MINUTE))
      return expire(before)
    }
    await run(10.5 * MINUTE)
    const { key } = await spool.add()
    await pass(5 * SECOND)
    expect(endOf(key)).toMatchObject({ end: 'delivered' })
  })

  const random404 = randomOf(7)
  const REFUSED = () => refused(404, 'Not found')
  const OUTAGE: [minutes: number, () => Answer][] = [
    [1, REFUSED],
    [180, () => undecided(undefined)],
    [2, REFUSED],
  ]
  it.each<[entries: number, string, phases: [minutes: number, () => Answer][]]>([
    [1, 'was refused before and after an outage of hours', OUTAGE],
    [20, 'were refused before and after an outage of hours', OUTAGE],
    [
      50,
      'get 404 among the 503 of a server that is away',
      [[90, () => (random404() < 0.3 ? REFUSED() : undecided(503))]],
    ],
  ])('keeps all of %i entries of a project that %s', async (entries, _, phases) => {
    maxAge = DAY
    for (let i = 0; i < entries; i++) await spool.add()
    start()
    for (const [minutes, answerOf] of phases) {
      answer = answerOf
      await pass(minutes * MINUTE)
    }
    expect(ends).toEqual([])
    answer = () => answered(200)
    await pass(5 * MINUTE)
    expect(ends.filter(({ end }) => end === 'delivered')).toHaveLength(entries)
  })

  it.each([503, undefined])(
    'keeps an entry until it expires while all get %s, and then sends it no more',
    async (status) => {
      answer = () => undecided(status)
      const { key } = await spool.add()
      await run(MAX_AGE - MINUTE)
      expect(probes).toBeGreaterThan(600)
      expect(ends).toEqual([])
      await pass(2 * MINUTE)
      expect(ends).toEqual([{ key, end: 'expired', status: undefined }])
      answer = () => answered(200)
      const tried = attempts.length
      await pass(MINUTE)
      expect(attempts).toHaveLength(tried)
    },
  )

  it('reports that entries cannot be taken or expired as a fault of the spool', async () => {
    const failure = new Error('malformed')
    spool.expire = () => Promise.reject(failure)
    await run(11 * MINUTE)
    expect(new Set(spoolFaults)).toEqual(new Set([failure]))
    spool.take = () => Promise.reject(new Error('locked'))
    await pass(SECOND)
    expect(spoolFaults).toContainEqual(new Error('locked'))
    expect(faults.splice(0)).toEqual(spoolFaults)
  })

  describe('expires no entry early', () => {
    it('after the clock was set forward, and says that it was', async () => {
      await goAway()
      const { key } = await spool.add()
      await run(20 * MINUTE)
      steppedMs = 25 * 60 * MINUTE
      await pass(20 * MINUTE)
      expect(ends).toEqual([])
      expect(notices).toEqual([expect.stringContaining('set forward by 1500 min')])
      await pass(21 * MINUTE)
      expect(ends).toEqual([{ key, end: 'expired', status: undefined }])
    })

    it('after it was set back and forward again', async () => {
      await goAway()
      await run(MINUTE)
      steppedMs = -120 * MINUTE
      await pass(MINUTE)
      await spool.add()
      steppedMs = 0
      await pass(MAX_AGE - 2 * MINUTE)
      expect(ends).toEqual([])
    })

    it('in the first minutes after a start, when the clock may be wrong', async () => {
      await goAway()
      await spool.add(undefined, { received: Date.now() - 25 * 60 * MINUTE })
      await run(9 * MINUTE)
      expect(ends).toEqual([])
    })
  })

  it('holds rate-limited entries until the limit ends, and delivers the others meanwhile', async () => {
    const limited = answered(429, '60:error:key')
    answer = ({ body }) => (body.includes('error') ? limited : answered(200))
    for (const i of [1, 2, 3]) await spool.add(Buffer.from(`error ${i}`))
    const [first] = spool.entry()
    await run(100)
    const tried = attempts.length // attempts that started together with the first
    for (const i of [1, 2, 3]) await spool.add(Buffer.from(`session ${i}`), { category: 'session' })
    await pass(58 * SECOND)
    expect(attempts.slice(tried).map(({ body }) => String(body))).toEqual([
      'session 1',
      'session 2',
      'session 3',
    ])
    answer = () => answered(200)
    await pass(5 * SECOND)
    expect(attempts.map(({ body }) => String(body)).filter((body) => body === 'error 1')).toHaveLength(2)
    expect(ends).toContainEqual({ key: first?.key, end: 'delivered', status: 200 })
    expect(spool.entry()).toEqual([])
  })

  it('sends no entry that was taken before a limit on its category came with a 200', async () => {
    for (let i = 0; i < 20; i++) await spool.add(Buffer.from(`log ${i}`), { category: 'log_item' })
    await run(5 * SECOND)
    expect(attempts).toHaveLength(20) // several at once by now
    attempts = []
    const gate = Promise.withResolvers<void>()
    const { read } = spool
    let reads = 0
    spool.read = async (entry) => {
      if (++reads > 1) await gate.promise
      return read(entry)
    }
    answer = () => answered(200, '60:error:key')
    for (const i of [1, 2, 3]) await spool.add(Buffer.from(`error ${i}`))
    await pass(SECOND)
    expect(reads).toBe(3)
    gate.resolve()
    await pass(58 * SECOND)
    expect(attempts).toHaveLength(1)
    answer = () => answered(200)
    await pass(5 * SECOND)
    expect(attempts).toHaveLength(3)
  })

  it('drops an entry of a category that the server does not store, and does not call it expired', async () => {
    answer = () => answered(200, '86400:transaction;span:organization')
    const error = await spool.add()
    await run(SECOND)
    const span = await spool.add(Buffer.from('span'), { category: 'span' })
    const log = await spool.add(Buffer.from('log'), { category: 'log_item' })
    await pass(2 * SECOND)
    expect(attempts).toHaveLength(2)
    expect(ends).toEqual([
      { key: error.key, end: 'delivered', status: 200 },
      { key: span.key, end: 'declined', status: undefined, reason: 'not-stored' },
      { key: log.key, end: 'delivered', status: 200 },
    ])
    expect(spool.entry()).toEqual([])
  })

  it('delivers entries of one project while another project of the same Sentry is limited', async () => {
    answer = ({ project }) => (project === PROJECT ? answered(429, '3600::key') : answered(200))
    await spool.add()
    await run(SECOND)
    const other = await spool.add(undefined, { project: OTHER_PROJECT })
    await pass(SECOND)
    expect(ends).toEqual([{ key: other.key, end: 'delivered', status: 200 }])
    await pass(30 * MINUTE)
    expect(attempts.filter(({ project }) => project === PROJECT)).toHaveLength(1)
  })

  it('starts slowly and doubles the rate while responses succeed', async () => {
    for (let i = 0; i < 500; i++) await spool.add()
    await run(SECOND)
    const first = attempts.length
    expect(first).toBeGreaterThan(10)
    expect(first).toBeLessThan(45)
    await pass(6 * SECOND)
    expect(ends).toHaveLength(500)
  })

  it('keeps its rate when bodies cannot be read from the spool', async () => {
    for (let i = 0; i < 500; i++) await spool.add()
    answer = () => (attempts.length % 5 === 0 ? { error: UNREADABLE } : answered(200))
    await run(15 * SECOND)
    expect(ends.length).toBeGreaterThan(450) // 300 at the initial rate
  })

  it('delivers the entries of projects while a mirror never answers, of which many are pending', async () => {
    const mirror = projects.destinations.at(-1)?.key ?? ''
    const held: (() => void)[] = []
    for (let i = 0; i < 500; i++) await spool.add(undefined, { project: mirror })
    await run(4 * SECOND)
    answer = ({ project }) =>
      project === mirror ? new Promise((resolve) => held.push(() => resolve(answered(200)))) : answered(200)
    await pass(MINUTE / 6)
    expect(held.length).toBeGreaterThan(16)
    const { key } = await spool.add()
    await pass(SECOND)
    expect(ends.map((end) => end.key)).toContain(key)
    for (const release of held) release()
  })

  it('has at most 64 attempts at the same time', async () => {
    const gates: (() => void)[] = []
    for (let i = 0; i < 300; i++) await spool.add()
    await run(2 * SECOND)
    answer = () => new Promise((resolve) => gates.push(() => resolve(answered(200))))
    await pass(MINUTE / 4)
    expect(gates.length).toBeGreaterThan(32)
    expect(gates.length).toBeLessThanOrEqual(64)
    answer = () => answered(200)
    for (const open of gates) open()
    await pass(MINUTE)
    expect(spool.entry()).toEqual([])
  })

  it('sends no entry to an unreachable Sentry, and delivers all when a probe passes', async () => {
    await goAway()
    for (let i = 0; i < 20; i++) await spool.add()
    await run(30 * SECOND)
    expect([attempts.length, probes]).toEqual([0, 6])
    answer = () => answered(200)
    await pass(15 * SECOND)
    expect(spool.entry()).toEqual([])
  })

  it('delivers several entries at the same time to a slow Sentry that responds, and none to one that hangs', async () => {
    answer = () => wait(LATE + 3 * SECOND).then(() => answered(200)) // every response is too late for a browser
    for (let i = 0; i < 10; i++) send()
    await pass(LATE)
    for (let i = 0; i < 500; i++) await spool.add()
    attempts = []
    start()
    const underWay = () => attempts.length - ends.length
    await pass(2 * SECOND)
    expect(attempts).toEqual([])
    await pass(30 * SECOND)
    expect(underWay()).toBeGreaterThan(3)
    answer = () => wait(10 * SECOND).then(() => undecided(undefined))
    await pass(20 * SECOND)
    const sent = attempts.length
    await pass(MINUTE)
    expect(attempts).toHaveLength(sent)
  })

  it('leases no entry while live traffic needs all connections', async () => {
    spareConnections = () => 0
    await spool.add()
    await run(5 * SECOND)
    expect(attempts).toEqual([])
    spareConnections = () => 1
    await pass(SECOND)
    expect(ends).toHaveLength(1)
  })

  it('retries a delivery that got no connection, and does not count it as an attempt', async () => {
    const { key } = await spool.add()
    answer = () => ({ error: NOT_SENT })
    await run(SECOND)
    expect(deliverer.attempts()).toEqual([])
    answer = () => answered(200)
    await pass(5 * SECOND)
    expect(ends).toEqual([{ key, end: 'delivered', status: 200 }])
  })

  /** Records final outcomes as the tunnel does. */
  function openFinalOutcomes() {
    const recorded: unknown[] = []
    const posted: Buffer[] = []
    const receipts = { recordFinalOutcome: (outcome: unknown) => recorded.push(outcome) } as never
    const reports = new ClientReports(async (_, envelope) => posted.push(envelope) > 0, Date.now)
    const its = { projects, receipts, reports, replica: 'r1', now: Date.now }
    const onFinalOutcome = createFinalOutcomes({ ...its, counters: { countMirrored: () => {} } })
    return { recorded, posted, reports, onFinalOutcome }
  }

  it('sends a client report for entries that expired, each counted once', async () => {
    const { recorded, posted, reports, onFinalOutcome } = openFinalOutcomes()
    answer = () => undecided(undefined)
    for (const category of ['error', 'error', 'replay', '']) await spool.add(undefined, { category })
    deliverer.start({ onFinalOutcome, onError: (error) => faults.push(error), onSettled: () => {} })
    await pass(MAX_AGE + 2 * MINUTE)
    await reports.flush()
    await reports.flush()
    expect(posted).toHaveLength(1)
    const [item] = parseEnvelope(posted[0] ?? Buffer.alloc(0)).items
    expect(item?.header).toMatchObject({ type: 'client_report' })
    expect(JSON.parse(String(item?.payload)).discarded_events).toEqual([
      { reason: 'cache_overflow', category: 'error', quantity: 2 },
      { reason: 'cache_overflow', category: 'replay', quantity: 1 },
    ])
    expect(recorded).toHaveLength(4)
    expect(recorded[0]).toMatchObject({
      final_outcome: 'expired',
      project: 'sentry.example/456',
      replica: 'r1',
    })
  })

  it('records no final outcome of an entry whose put was rejected', async () => {
    const { recorded, onFinalOutcome } = openFinalOutcomes()
    const entry = await spool.add()
    onFinalOutcome({ ...entry, isRejected: true }, 'delivered', 200)
    expect(recorded).toEqual([])
    onFinalOutcome(entry, 'delivered', 200)
    expect(recorded).toHaveLength(1)
  })

  it('records an evicted entry', async () => {
    const victim = await spoolEntryOf(Buffer.from('x'))
    start()
    deliverer.evicted(victim)
    expect(ends).toEqual([{ key: victim.key, end: 'evicted', status: undefined }])
  })

  describe('follows an attempt that is late for its sender, and', () => {
    const follow = async (delivery: DeliveryResult, parts: Partial<SpoolEntry> = {}) => {
      const body = Buffer.from('late')
      const entry = await spoolEntryOf(body, { received: Date.now(), ...parts })
      const result = await spool.put(entry, inOne(body), 30 * SECOND)
      const [project] = projects.all
      if (result.kind !== 'stored' || !project) throw new Error('not stored')
      start()
      deliverer.follow(
        result.lease,
        project,
        wait(5 * SECOND).then(() => delivery),
      )
      return entry.key
    }

    it('ends the entry with its response, without another attempt', async () => {
      const key = await follow(DELIVERED)
      await pass(MINUTE)
      expect(ends).toEqual([{ key, end: 'delivered', status: 200 }])
      expect(attempts).toEqual([])
    })

    it('makes the entry due again when there is no response', async () => {
      const key = await follow(UNREACHED)
      await pass(4 * SECOND)
      expect(attempts).toEqual([])
      await pass(4 * SECOND)
      expect(attempts).toHaveLength(1)
      expect(ends).toEqual([{ key, end: 'delivered', status: 200 }])
    })
  })

  it('delivers entries of a former key or path with the current DSN of the project', async () => {
    const former = [PROJECT.replace('//', '//old'), PROJECT.replace(/(\d+)$/, 'prefix/$1')]
    for (const [i, project] of former.entries())
      await spool.add(envelopeOf({ dsn: project }, [{ header: { type: 'x', i }, payload: '' }]), { project })
    await run(SECOND)
    expect(attempts.map(({ project }) => project)).toEqual([PROJECT, PROJECT])
    expect(attempts.map(({ body }) => parseEnvelope(body).header.dsn)).toEqual([PROJECT, PROJECT])
    expect(deliverer.warnings()).toEqual([])
    expect(notices).toHaveLength(2)
  })

  it('delivers a resent entry of a former key at once, of which there was none before', async () => {
    const project = PROJECT.replace('//', '//old')
    await run(5 * SECOND)
    await spool.add(undefined, { project })
    deliverer.noteResent(project)
    await pass(2 * SECOND)
    expect(attempts.map(({ project }) => project)).toEqual([PROJECT])
  })

  it('names the entries of a project that is no longer configured, once in the log', async () => {
    const project = 'https://key@removed.example/7'
    for (let i = 0; i < 3; i++) await spool.add(undefined, { project })
    await run(5 * MINUTE)
    expect(attempts).toEqual([])
    expect(deliverer.warnings()).toEqual([expect.stringContaining('3 envelopes of removed.example/7')])
    expect(notices).toEqual(deliverer.warnings())
  })

  it('logs a body that cannot be read, delivers other entries, and retries when the lease ends', async () => {
    const { key } = await spool.add()
    const other = await spool.add()
    spool.unreadable.add(key)
    await run(5 * SECOND)
    expect(ends.map((end) => end.key)).toEqual([other.key])
    expect(faults.splice(0)).toEqual([new Error('it cannot be read')])
    spool.unreadable.clear()
    await pass(MINUTE)
    expect(ends.map((end) => end.key)).toEqual([other.key, key])
  })

  it('logs no error when an entry is purged before its body is read', async () => {
    await spool.add()
    const { read } = spool
    spool.read = async (lease) => {
      await spool.finish(lease as Lease)
      return read(lease)
    }
    await run(5 * SECOND)
    expect(spool.entry()).toEqual([])
    expect(attempts).toEqual([]) // and no error was logged
  })

  it('records the final outcome of a removed entry when the response of the spool was lost', async () => {
    const { key } = await spool.add()
    const { finish } = spool
    spool.finish = async (lease) => {
      await finish(lease)
      throw new Error('the answer was lost')
    }
    await run(5 * SECOND)
    expect(ends).toEqual([{ key, end: 'delivered', status: 200 }])
  })

  it('logs and postpones an entry that cannot be removed, and records its final outcome when it can', async () => {
    const { key } = await spool.add()
    const { finish } = spool
    const postpone = vi.spyOn(spool, 'postpone')
    spool.finish = () => Promise.reject(new Error('the disk fails'))
    await run(5 * SECOND)
    expect(faults.splice(0)).toEqual([new Error('the disk fails')])
    expect(postpone.mock.calls.map(([lease]) => lease.key)).toEqual([key])
    expect(ends).toEqual([])
    spool.finish = finish
    await pass(MINUTE + 5 * SECOND)
    expect(ends).toEqual([{ key, end: 'delivered', status: 200 }])
  })

  it('records one final outcome of an entry that expires during an attempt', async () => {
    const { key } = await spool.add()
    await pass(MAX_AGE - 5 * SECOND)
    answer = () => wait(20 * SECOND).then(() => answered(200))
    await run(MINUTE)
    expect(ends).toHaveLength(1)
    expect(ends[0]?.key).toBe(key)
  })

  it('waits for running attempts when it stops, and leases no more entries', async () => {
    answer = () => wait(3 * SECOND).then(() => answered(200))
    const { key } = await spool.add()
    await run(SECOND)
    const stopped = vi.fn()
    void deliverer.stop().then(stopped)
    await spool.add()
    await pass(SECOND)
    expect(stopped).not.toHaveBeenCalled()
    await pass(2 * SECOND)
    expect(stopped).toHaveBeenCalled()
    expect(ends).toEqual([{ key, end: 'delivered', status: 200 }])
    expect(attempts).toHaveLength(1)
    const takes = spool.takes
    await pass(MINUTE)
    expect(spool.takes).toBe(takes)
  })

  it('stops at once when it is told to while it takes entries', async () => {
    start()
    const stopped = vi.fn()
    void deliverer.stop().then(stopped)
    await pass(0)
    expect(stopped).toHaveBeenCalled()
  })
})

const DELIVERED: DeliveryResult = {
  kind: 'answered',
  reply: {
    status: 200,
    body: Buffer.from('{}'),
    contentType: undefined,
    retryAfter: undefined,
    rateLimits: undefined,
  },
}
const UNREACHED: DeliveryResult = { kind: 'undecided', reason: 'ECONNREFUSED', status: undefined }

/** Response of Sentry, or an error of the connection. */
type Answer = { status?: number; error?: string; headers?: Record<string, string>; body?: string }

const CONTROLLER = { abort: () => {} }

function respond(request: UpstreamRequest, { status = 0, error, headers = {}, body = '' }: Answer): void {
  if (error) request.onResponseError(CONTROLLER, Object.assign(new Error(error), { code: error }))
  else {
    request.onResponseStart(CONTROLLER, status, headers)
    request.onResponseData(CONTROLLER, Buffer.from(body))
    request.onResponseEnd()
  }
}

function answered(status: number, rateLimits?: string): Answer {
  const headers = {
    'content-type': 'application/json',
    ...(rateLimits && { 'x-sentry-rate-limits': rateLimits }),
  }
  return { status, headers, body: '{"detail":"…"}' }
}

function undecided(status: number | undefined): Answer {
  return status ? { status } : { error: 'ECONNREFUSED' }
}

const RESET: Answer = { error: 'UND_ERR_SOCKET' }

function refused(status: number, message: string): Answer {
  return { status, headers: { 'content-type': 'text/html' }, body: `<h1>${message}</h1>` }
}

/** Returns numbers from 0 up to 1, the same for each seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function bytesOf(content: Buffer | Pieces): Buffer {
  return Buffer.isBuffer(content) ? content : Buffer.concat(content)
}
