/** The sentence of the status banner for each state of the site. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type Clock,
  describeDisconnection,
  describeSituation,
  findRunbookEntry,
} from '../../../contract/situation/describe.ts'
import type { LossCounts, RecentLosses } from '../../../contract/situation/losses.ts'
import { type ActiveStorm, findProblems, type Problem } from '../../../contract/situation/problems.ts'
import { type Incident, type Situation, stateOf } from '../../../contract/situation/situation.ts'
import type { SpoolStatus } from '../../../contract/spool.ts'
import type { ProjectRefusal, UpstreamErrorClass } from '../../../contract/upstream.ts'
import { linkTo } from '../../../web/features/console/overview/results.ts'
import { formatWhen } from '../../../web/lib/format.ts'
import { ROOT } from '../../support/node.ts'
import { figuresOf, MINUTE, pointAt } from '../../support/web/figures.ts'

const RUNBOOK = readFileSync(join(ROOT, 'docs/runbook.md'), 'utf8')
const HOUR = 3_600_000
const NOW = new Date(2026, 10, 22, 9, 30).getTime()
const SEVEN = new Date(2026, 10, 22, 7, 9).getTime()
const CLOCK: Clock = { now: NOW, format: (time) => formatWhen(time, NOW) }
const NO_LOSSES: LossCounts = { expired: 0, evicted: 0, unavailable: 0, vanished: 0 }

const losing = (losses: Partial<RecentLosses>): Problem => ({
  ...{ kind: 'losing', losses: { ...NO_LOSSES, full_rate: 0, ...losses } },
})

type Spool = Situation['spools'][number]

function situationOf(problems: Problem[], spool: Partial<Spool> = {}, losses = NO_LOSSES): Situation {
  const spools = [{ envelopes: 0, max_age_ms: 24 * HOUR, ...spool }]
  return { state: stateOf(problems), since: SEVEN, problems, week: { losses }, spools, incidents: [] }
}

const describeFor = (...given: Parameters<typeof situationOf>) =>
  describeSituation(situationOf(...given), CLOCK)

const unreachable = (
  error?: { class: UpstreamErrorClass; status?: number; code?: string },
  { hasResponded } = { hasResponded: true },
): Problem => ({
  ...{ kind: 'upstream', is_total: true, servers: 1, all_servers: 1, origin: 'https://o1.example' },
  ...{ replicas: 2, all_replicas: 2, since: SEVEN, has_responded: hasResponded },
  ...(error && { error: { first: SEVEN, last: NOW, count: 9, ...error } }),
})

const DECLINE: ProjectRefusal = {
  ...{ project: 'o1.example/2', is_decline: true, status: 403, message: 'event submission rejected' },
  ...{ first: SEVEN, last: NOW, count: 202 },
}
const MOST = { since: SEVEN, count: 180, total: 200 }
const STORM: ActiveStorm = {
  ...{ fingerprint: 'f', project: 'o1.example/2', title: 'TypeError in f', mode: 'observe' },
  ...{ since: SEVEN, seen: 3_000, sent: 129 },
}
const SPOOLED = { envelopes: 90, oldest: SEVEN }

describe('describeSituation', () => {
  it('says when the first pending envelope expires, also when there is no problem', () => {
    expect(describeFor([], SPOOLED).text).toContain('90 pending. First expiry tomorrow 07:09. No action')
  })

  it('names the time since which there are no problems', () => {
    expect(describeFor([])).toEqual({
      state: 'ok',
      text: 'No problems since 07:09. 0 pending. No action needed.',
      lost: '0 envelopes lost in the last 7 days.',
      others: [],
    })
  })

  it.each([
    [{ unavailable: 1_000 }, 'Rejections lists the reasons of past losses.', '/console/rejections'],
    [
      { expired: 2 },
      'Envelopes expired in the spool: raise SPOOL_HOURS.',
      '/console/live-feed?outcome=expired',
    ],
    [
      { evicted: 2 },
      'The spool had no space for all envelopes: raise SPOOL_BYTES.',
      '/console/live-feed?outcome=evicted',
    ],
    [
      { vanished: 1 },
      'The store of the spool lost envelopes: see CulvertSpoolLost in the runbook.',
      '/console/spool',
    ],
    [
      { unavailable: 1, expired: 3 },
      'Rejections lists the reasons of past losses. Envelopes expired in the spool: raise SPOOL_HOURS.',
      '/console/live-feed?outcome=expired',
    ],
    [{}, 'No action needed.', '/console/rejections'],
  ])('explains the past losses %j, and links to the page that shows them', (given, text, link) => {
    const losses = { ...NO_LOSSES, ...given }
    expect(describeFor([], {}, losses).text).toBe(`No problems since 07:09. 0 pending. ${text}`)
    expect(linkTo(losses)).toBe(link)
  })

  it('needs no action while Sentry is unreachable and the spool holds everything', () => {
    expect(describeFor([unreachable({ class: 'http-5xx', status: 500 })], SPOOLED)).toEqual({
      state: 'outage',
      text: 'Sentry unreachable since 07:09 (HTTP 500). 90 pending. First expiry tomorrow 07:09. No action needed.',
      lost: '0 envelopes lost in the last 7 days.',
      others: [],
    })
  })

  it('asks to check the DSN of a server that has never responded', () => {
    const refused = { class: 'connect', code: 'ECONNREFUSED' } as const
    const { text } = describeFor([unreachable(refused, { hasResponded: false })], SPOOLED)
    expect(text).toContain('Check host and port in SENTRY_DSN')
    expect(text).not.toContain('No action needed')
  })

  it('asks for more SPOOL_HOURS when the first envelope expires within a quarter of them', () => {
    const oldest = NOW - 20 * HOUR
    expect(describeFor([unreachable({ class: 'timeout' })], { envelopes: 1, oldest }).text).toMatch(
      /First expiry 13:30\. Act before 13:30: raise SPOOL_HOURS in \.env, and run npm run deploy\.$/,
    )
  })

  it('asks for disk space or more SPOOL_BYTES when either is used up before the first envelope expires', () => {
    const spool = { ...SPOOLED, full_in_seconds: 7_200 }
    expect(describeFor([unreachable({ class: 'timeout' })], spool).text).toMatch(
      /Act before 11:30, when the spool or its disk is full: free disk space, or raise SPOOL_BYTES/,
    )
    const later = { ...SPOOLED, full_in_seconds: 100 * 3_600 }
    expect(describeFor([unreachable({ class: 'timeout' })], later).text).toMatch(/No action needed\.$/)
  })

  it.each([
    [403, 'check that the project exists, its key in SENTRY_DSN'],
    [400, 'check the settings of the server'],
  ])('shows the text of a server that refuses a project with %i, and a remedy', (status, remedy) => {
    const refusal = { project: 'bugs.example/3', message: 'Project not found', first: SEVEN, last: NOW }
    const problem: Problem = { kind: 'refused', refusal: { ...refusal, status, count: 9 }, others: 0 }
    const { state, text } = describeFor([problem], SPOOLED)
    expect(state).toBe('degraded')
    expect(text).toContain(
      `bugs.example has refused the envelopes of bugs.example/3 since 07:09 (HTTP ${status}: “Project not found”). 90 pending.`,
    )
    expect(text).toContain(remedy)
    expect(text).not.toContain('First expiry') // the envelopes are declined long before
  })

  it('reports the failure of one server or one replica as degraded', () => {
    const partial = { ...unreachable({ class: 'timeout' }), is_total: false }
    expect(describeFor([{ ...partial, replicas: 1 } as Problem])).toMatchObject({
      state: 'degraded',
      text: expect.stringContaining('o1.example unreachable on 1 of 2 replicas since 07:09 (timeout).'),
    })
    expect(describeFor([{ ...partial, servers: 2, all_servers: 5 } as Problem])).toMatchObject({
      state: 'degraded',
      text: expect.stringContaining('2 of 5 Sentry servers unreachable since 07:09 (timeout).'),
    })
  })

  it('reports a failing spool as an outage only while Sentry is unreachable too', () => {
    const failing = { kind: 'spool-failing', since: SEVEN, reason: 'disk full' } as const
    expect(describeFor([{ ...failing, is_losing: false }])).toMatchObject({
      state: 'degraded',
      text: 'The spool has accepted no envelopes since 07:09 (disk full). 0 pending. Act now: check the disk or the NATS server of SPOOL_URL.',
    })
    const both: Problem[] = [{ ...failing, is_losing: true }, unreachable({ class: 'timeout' })]
    expect(describeFor(both, { ...SPOOLED }, { ...NO_LOSSES, unavailable: 4 })).toEqual({
      state: 'outage',
      text: 'The spool has accepted no envelopes since 07:09 (disk full). Sentry is unreachable as well: new envelopes are lost. 90 pending. First expiry tomorrow 07:09. Act now: check the disk or the NATS server of SPOOL_URL.',
      lost: '4 envelopes lost in the last 7 days.',
      others: ['Sentry unreachable since 07:09 (timeout).'],
    })
  })

  it('reports recent losses as an outage, and asks for more SPOOL_BYTES if the spool is full', () => {
    const full = [losing({ unavailable: 5_580, full_rate: 31 }), unreachable({ class: 'timeout' })]
    expect(describeFor(full, SPOOLED, { ...NO_LOSSES, unavailable: 5_580 })).toEqual({
      state: 'outage',
      text: 'The spool is full: new reports are being lost, 31 a second. 5,580 envelopes lost in the last 3 min. 90 pending. First expiry tomorrow 07:09. Act now: raise SPOOL_BYTES in .env, and run npm run deploy.',
      lost: '5,580 envelopes lost in the last 7 days.',
      others: ['Sentry unreachable since 07:09 (timeout).'],
    })
    expect(describeFor([losing({ unavailable: 12 })]).text).toBe(
      '12 envelopes lost in the last 3 min. 0 pending. Act now: see Rejections.',
    )
  })

  it('asks for a check of the disk when envelopes are lost because the spool fails', () => {
    const failing: Problem = { kind: 'spool-failing', since: SEVEN, is_losing: true }
    expect(describeFor([losing({ unavailable: 1 }), failing]).text).toMatch(
      /^1 envelope lost in the last 3 min\..* Act now: check the disk or the NATS server of SPOOL_URL\.$/,
    )
  })

  it('reports a spool that does not respond as degraded, with its number of envelopes unknown', () => {
    const silent: Problem = { kind: 'spool-silent', reason: 'no response within 1 s' }
    const situation = { ...situationOf([silent]), spools: [{ max_age_ms: HOUR }] }
    expect(describeSituation(situation, CLOCK)).toMatchObject({
      state: 'degraded',
      text: 'The spool does not respond (no response within 1 s). Number of pending envelopes unknown. Act: check the disk or the NATS server of SPOOL_URL.',
    })
    expect(describeFor([{ kind: 'spool-silent' }]).text).toMatch(/^The spool does not respond\. /)
  })

  it('shows no number of envelopes that is unknown', () => {
    expect(describeFor([{ kind: 'no-replica', since: SEVEN }])).toMatchObject({
      state: 'outage',
      text: 'No tunnel has responded since 07:09. New envelopes may be lost. Spooled envelopes stay on disk. Act now: run docker compose ps tunnel, then docker compose logs tunnel; on Kubernetes, run kubectl get pods --selector app.kubernetes.io/component=tunnel in the namespace of Culvert, and read their logs.',
    })
    const { text } = describeSituation({ ...situationOf([]), spools: [{ max_age_ms: HOUR }] }, CLOCK)
    expect(text).toContain('Number of pending envelopes unknown.')
  })

  it('names the tunnels that use another store, and what to do', () => {
    expect(describeFor([{ kind: 'stores-differ', name: 'tunnel-3', others: 0 }])).toMatchObject({
      state: 'degraded',
      text: expect.stringMatching(
        /^tunnel-3 uses another store than the other tunnels\. The console does not show its envelopes\. .+ Act: set the same SPOOL_URL for all tunnels/,
      ),
    })
    expect(describeFor([{ kind: 'stores-differ', name: 'tunnel-3', others: 2 }]).text).toMatch(
      /^tunnel-3 and 2 more tunnels use another store/,
    )
  })

  it('names the time at which the first paused envelope expires', () => {
    const paused: Problem = { kind: 'paused', project: 'p/1', others: 1, since: SEVEN }
    expect(describeFor([paused], SPOOLED)).toMatchObject({
      state: 'degraded',
      text: 'Delivery from the spool has been paused since 07:09 for p/1 and 1 more project. 90 pending. First expiry tomorrow 07:09. Act before tomorrow 07:09: resume it on the page Spool.',
    })
    expect(describeFor([paused]).text).toMatch(/Act: resume it on the page Spool\.$/)
  })
})

describe('Reports that are not lost, and do not reach Sentry either', () => {
  it.each<[Problem, string]>([
    [
      { kind: 'declined', refusal: DECLINE, others: 1 },
      'o1.example has declined all envelopes of o1.example/2 and of 1 more project since 07:09 (HTTP 403: “event submission rejected”). Declined so far: 202. 0 pending. Act now: copy the DSN from the settings of the project into SENTRY_DSN again: its key is wrong, or the project was deleted. The spool keeps declined envelopes for up to a week. Send them again on the page Spool.',
    ],
    [
      { kind: 'mostly-declined', ...MOST, result: 'declined' },
      'Sentry has declined 180 of 200 envelopes since 07:09. 0 pending. Act: the live feed shows the envelopes, and Sentry’s answers. The spool keeps declined envelopes for up to a week. Send them again on the page Spool.',
    ],
    [
      { kind: 'mostly-rejected', ...MOST, result: 'rejected:dsn-unknown' },
      'Culvert has rejected or limited 180 of 200 envelopes since 07:09. The most frequent reason is dsn-unknown. 0 pending. Act now: the page Rejections shows the request, and the line that accepts it.',
    ],
    [
      { kind: 'mostly-rejected', ...MOST, result: 'rate_limited:quota' },
      'Culvert has rejected or limited 180 of 200 envelopes since 07:09. The most frequent reason is quota. 0 pending. Act now: raise QUOTA, or wait for the next period. The page Policies shows the use.',
    ],
    [
      { kind: 'storm', storm: { ...STORM, mode: 'enforce' }, others: 0 },
      'Storm: 3,000 identical errors of o1.example/2 since 07:09. 0 pending. Act: fix the error, which the page Policies names. Beyond STORM_LIMIT, 1 in 100 is sent.',
    ],
    [
      {
        ...{ kind: 'rate-limited', limits: [{ category: 'error', until: NOW }] },
        dropped: { since: SEVEN, count: 42 },
      },
      'Sentry rate-limits errors until 09:30. 42 errors dropped since 07:09. 0 pending. Items of these categories are dropped until their limit ends. Act if it lasts: raise the quota on the server, or set QUOTA or STORM_LIMIT.',
    ],
  ])('are told, with time, number and an action: %j', (problem, text) => {
    expect(describeFor([problem])).toMatchObject({ state: 'degraded', text, others: [] })
  })
})

describe('The last incident', () => {
  const incident: Incident = {
    ...{ state: 'outage', since: SEVEN, until: SEVEN + 2 * MINUTE, kinds: ['upstream'], detail: 'HTTP 503' },
    ...{ delivered_late: 1_677, lost: 0, is_counting: false },
  }
  const gap = { since: SEVEN, until: SEVEN + MINUTE }
  const afterGap: Incident = { ...incident, ...gap, kinds: ['gap'] }
  const calm = (...incidents: Incident[]) =>
    describeSituation({ ...situationOf([]), incidents }, CLOCK).incident

  it('stays for a day after it is over', () => {
    const text =
      'Last incident: Outage 07:09–07:11: Sentry unreachable (HTTP 503). 1,677 delivered late, 0 lost.'
    expect(calm(incident, { ...incident, detail: 'HTTP 500' })).toBe(text)
    expect(calm({ ...incident, until: SEVEN + 1 })).toContain('Outage 07:09: Sentry unreachable')
    const old = { ...incident, until: NOW - 25 * HOUR }
    expect(calm(old)).toBeUndefined()
  })

  it('is not shown while there is a problem', () => {
    const situation = { ...situationOf([unreachable()]), incidents: [incident] }
    expect(describeSituation(situation, CLOCK)).not.toHaveProperty('incident')
  })

  it('may be a gap, which is among the problems of a calm state first', () => {
    const text = 'No tunnel ran 07:09–07:10; reports sent then are not counted.'
    const situation = { ...situationOf([{ kind: 'gap', ...gap }]), incidents: [afterGap] }
    const verdict = describeSituation(situation, CLOCK)
    expect(verdict).toMatchObject({ state: 'ok', others: [text] })
    expect(verdict.text).toMatch(/^No problems since 07:09\. /)
    expect(verdict).not.toHaveProperty('incident')
    expect(calm(afterGap)).toBe(
      'Last incident: Outage 07:09–07:10: no tunnel ran; reports sent then are not counted.',
    )
  })
})

describe('findRunbookEntry', () => {
  const failing: Problem = { kind: 'spool-failing', since: SEVEN, is_losing: true }

  it.each<[Problem[], string]>([
    [[{ kind: 'no-replica' }], 'CulvertAway'],
    [[losing({ unavailable: 2, vanished: 1 })], 'CulvertLosesEnvelopesFast'],
    [[losing({ vanished: 2, expired: 1 })], 'CulvertSpoolLost'],
    [[losing({ unavailable: 1 }), failing], 'CulvertSpoolUnwritable'],
    [[failing], 'CulvertSpoolUnwritable'],
    [[{ kind: 'spool-silent' }], 'CulvertSpoolUnwritable'],
    [[unreachable()], 'CulvertBreakerOpen'],
    [[{ kind: 'damaged-file', files: 1 }], 'CulvertSpoolDamaged'],
    [[{ kind: 'replicas-away', name: 'tunnel-2', others: 0, since: SEVEN }], 'CulvertReplicaDown'],
    [[{ kind: 'paused', others: 0, since: SEVEN }], 'CulvertSpoolPaused'],
    [[{ kind: 'declined', refusal: DECLINE, others: 0 }], 'CulvertSentryDeclines'],
    [[{ kind: 'mostly-declined', ...MOST, result: 'declined' }], 'CulvertSentryDeclines'],
    [[{ kind: 'mostly-rejected', ...MOST, result: 'rejected:dsn-unknown' }], 'CulvertRejectsMost'],
    [[{ kind: 'storm', storm: STORM, others: 0 }], 'CulvertErrorStorm'],
    [[{ kind: 'rate-limited', limits: [{ category: 'error', until: NOW }] }], 'CulvertSentryLimitsErrors'],
  ])('returns an entry of docs/runbook.md for %j', (problems, entry) => {
    expect(findRunbookEntry(situationOf(problems))).toBe(entry)
    expect(RUNBOOK).toContain(`\n## ${entry}\n`)
  })

  it('returns an entry after the store lost envelopes, and none after other losses', () => {
    const past = (losses: Partial<LossCounts>) => situationOf([], {}, { ...NO_LOSSES, ...losses })
    expect(findRunbookEntry(past({ vanished: 1 }))).toBe('CulvertSpoolLost')
    expect(findRunbookEntry(past({ expired: 1 }))).toBeUndefined()
  })

  it('returns none for a rate limit on other categories than errors, and none without a problem', () => {
    expect(
      findRunbookEntry(
        situationOf([{ kind: 'rate-limited', limits: [{ category: 'session', until: NOW }] }]),
      ),
    ).toBeUndefined()
    expect(findRunbookEntry(situationOf([]))).toBeUndefined()
  })
})

const SILENT_SPOOL: SpoolStatus = {
  ...{ id: 'shared', writable: true, since: 0, max_bytes: 1, project_max_bytes: 1, max_age_ms: 1 },
  attempts: [],
}

describe('describeDisconnection', () => {
  it('names the last known state and asks for no action, since the state is unknown', () => {
    expect(describeDisconnection(situationOf([]), CLOCK, SEVEN)).toEqual({
      state: 'unknown',
      text: 'No connection to the console since 07:09. Last known state: OK. No problems since 07:09. 0 pending.',
      lost: '0 envelopes lost in the last 7 days.',
      others: [],
    })
    const outage = situationOf([unreachable({ class: 'timeout' })], SPOOLED)
    expect(describeDisconnection(outage, CLOCK, NOW)).toMatchObject({
      state: 'unknown',
      text: 'No connection to the console since 09:30. Last known state: Outage. Sentry unreachable since 07:09 (timeout). 90 pending. First expiry tomorrow 07:09.',
    })
  })
})

describe('findProblems', () => {
  const none = {
    absent: [],
    upstreams: [],
    mirrors: [],
    spools: [],
    limits: [],
    storms: [],
    figures: { figures: figuresOf() },
    silence: undefined,
    now: NOW,
  }
  const closed = { origin: 'https://s', open: [], closed: ['a'], hasResponded: true, refusals: [] }
  const open = { origin: 'https://t', open: ['a'], closed: [], since: 5, hasResponded: true, refusals: [] }

  it('reports limits on errors first, each with its own end, and none on categories that the server does not store', () => {
    const limit = (category: string, until: number, project = 'a/1') => ({ project, category, until })
    const standing = { ...limit('transaction', NOW + 24 * HOUR), standing: true } as const
    expect(findProblems({ ...none, limits: [standing] })).toEqual([])
    const limits = [
      standing,
      limit('replay', 5),
      limit('error', 9),
      limit('error', 7, 'a/2'),
      limit('all', 8),
    ]
    expect(findProblems({ ...none, limits })).toEqual([
      {
        kind: 'rate-limited',
        limits: [
          { category: 'all', until: 8 },
          { category: 'error', until: 9 },
          { category: 'replay', until: 5 },
        ],
      },
    ])
  })

  it('reports a project that was refused repeatedly and lately, the one with the most refusals first', () => {
    const refusal = { project: 't/1', status: 403, first: 1, last: NOW - 1, count: 3 }
    const refused = (...refusals: ProjectRefusal[]) =>
      findProblems({ ...none, upstreams: [{ ...closed, refusals }] })
    expect(refused(refusal, { ...refusal, project: 't/2', count: 4 })).toEqual([
      { kind: 'refused', refusal: { ...refusal, project: 't/2', count: 4 }, others: 1 },
    ])
    expect(refused({ ...refusal, count: 2 }, { ...refusal, last: NOW - 2 * HOUR })).toEqual([])
  })

  it('reports a project of which Sentry declines everything, besides one that is refused', () => {
    const refusal = { project: 't/1', status: 403, first: 1, last: NOW - 1, count: 3 }
    const declined = { ...refusal, project: 't/2', is_decline: true, networks: 2 } as const
    const figures = { figures: figuresOf([pointAt(10, { outcomes: { declined: 9 } })]) }
    const upstreams = [{ ...closed, refusals: [refusal, declined] }]
    expect(findProblems({ ...none, upstreams, figures })).toEqual([
      { kind: 'refused', refusal, others: 0 },
      { kind: 'declined', refusal: declined, others: 0 },
    ])
    expect(findProblems({ ...none, figures })).toMatchObject([
      { kind: 'mostly-declined', count: 9, total: 9 },
    ])
    const mirrors = [{ ...closed, refusals: [declined] }]
    expect(findProblems({ ...none, mirrors })).toMatchObject([{ kind: 'mirror', is_decline: true }])
  })

  it('reports declines of a quiet site for a day, and none of a single client', () => {
    const decline = { project: 't/1', status: 403, first: 1, count: 3, is_decline: true } as const
    const kinds = (last: number, networks: number) =>
      findProblems({ ...none, upstreams: [{ ...closed, refusals: [{ ...decline, last, networks }] }] })
    expect(kinds(NOW - 23 * HOUR, 2)).toMatchObject([{ kind: 'declined' }])
    expect([...kinds(NOW - 25 * HOUR, 2), ...kinds(NOW, 1)]).toEqual([])
  })

  it('adds up the errors of a storm over the replicas, and reports the largest', () => {
    const storms = [
      STORM,
      { ...STORM, since: 5, seen: 10, sent: 10 },
      { ...STORM, fingerprint: 'g', seen: 3 },
    ]
    expect(findProblems({ ...none, storms })).toEqual([
      { kind: 'storm', storm: { ...STORM, since: 5, seen: 3_010, sent: 139 }, others: 1 },
    ])
  })

  it('reports a mirror that is away, or refuses envelopes, after the problems of projects', () => {
    const mirror = { ...open, origin: 'https://m.example' }
    const away = { kind: 'mirror', host: 'm.example', others: 0, since: 5 }
    expect(findProblems({ ...none, mirrors: [closed, mirror] })).toEqual([away])
    expect(findProblems({ ...none, upstreams: [open], mirrors: [mirror] })).toMatchObject([
      { kind: 'upstream' },
      away,
    ])
    const refusal = { project: 'm.example/7', status: 403, first: 1, last: NOW - 1, count: 3 }
    expect(findProblems({ ...none, mirrors: [{ ...closed, refusals: [refusal] }] })).toEqual([
      { kind: 'mirror', host: 'm.example', others: 0, since: 1, status: 403 },
    ])
  })

  it('finds none on a site that works', () => {
    expect(findProblems({ ...none, upstreams: [closed] })).toEqual([])
  })

  it('names the first of the replicas that are away, and since when', () => {
    const absent = [
      { name: 'b', since: 7 },
      { name: 'c', since: 5 },
    ]
    expect(findProblems({ ...none, absent })).toEqual([
      { kind: 'replicas-away', name: 'b', others: 1, since: 5 },
    ])
  })

  it('reports a spool that returns no totals, although its last put succeeded', () => {
    const silent = { ...SILENT_SPOOL, problem: 'no response within 1 s' }
    expect(findProblems({ ...none, upstreams: [closed], spools: [silent] })).toEqual([
      { kind: 'spool-silent', reason: 'no response within 1 s' },
    ])
    expect(findProblems({ ...none, spools: [SILENT_SPOOL] })).toEqual([{ kind: 'spool-silent' }])
    expect(findProblems({ ...none, spools: [{ ...SILENT_SPOOL, writable: false }] })).toMatchObject([
      { kind: 'spool-failing', is_losing: false },
    ])
    expect(findProblems({ ...none, spools: [{ ...SILENT_SPOOL, envelopes: 0 }] })).toEqual([])
  })

  it('reports recent losses first', () => {
    const figures = { figures: figuresOf([pointAt(10, { outcomes: { 'rejected:spool-full': 3 } })]) }
    expect(findProblems({ ...none, upstreams: [open], figures })).toMatchObject([
      { kind: 'losing', losses: { ...NO_LOSSES, unavailable: 3 } },
      { kind: 'upstream' },
    ])
  })

  it.each([
    ['plain', 'in .env, and start Culvert again with npm start.'],
    ['compose', 'in .env, and run npm run deploy.'],
    ['chart', 'in settings of the values of the chart, and run helm upgrade.'],
  ] as const)('names the command of Culvert as %s', (deployment, command) => {
    const situation = { ...situationOf([losing({ expired: 1 })]), deployment }
    expect(describeSituation(situation, CLOCK).text).toContain(`raise SPOOL_HOURS ${command}`)
  })

  it('reports missing figures', () => {
    const figures = { missing: 'Figures of b are missing: timeout.' }
    const problems = findProblems({ ...none, figures })
    expect(problems).toEqual([{ kind: 'figures-missing', text: figures.missing }])
    const { state, text } = describeSituation({ ...situationOf(problems), week: {} }, CLOCK)
    expect(state).toBe('degraded')
    expect(text).toBe(
      'Figures of b are missing: timeout. It is not known whether envelopes were lost. 0 pending. Act if it lasts: check the disk or the NATS server of SPOOL_URL.',
    )
  })

  it('reports a total outage only when all breakers of all servers are open, with the time of the first error', () => {
    const error = { class: 'timeout', first: 3, last: 9, count: 2 } as const
    expect(findProblems({ ...none, upstreams: [{ ...open, error }] })).toMatchObject([
      { kind: 'upstream', is_total: true, since: 3, origin: 'https://t' },
    ])
    expect(findProblems({ ...none, upstreams: [open, closed] })).toMatchObject([
      { is_total: false, servers: 1, all_servers: 2, since: 5 },
    ])
    expect(findProblems({ ...none, upstreams: [{ ...open, closed: ['b'] }] })).toMatchObject([
      { is_total: false, replicas: 1, all_replicas: 2 },
    ])
  })
})

describe('formatWhen', () => {
  it.each([
    [new Date(2026, 10, 22, 0, 0), '00:00'],
    [new Date(2026, 10, 23, 7, 9), 'tomorrow 07:09'],
    [new Date(2026, 10, 21, 23, 59), 'yesterday 23:59'],
    [new Date(2026, 10, 24, 7, 9), '24 Nov 07:09'],
  ])('formats %s relative to 22 November', (time, text) => {
    expect(formatWhen(time.getTime(), NOW)).toBe(text)
  })
})
