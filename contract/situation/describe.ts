/** Describes the state of the site's error reporting in plain English: cause, what is safe, and the remedy. */

import { categoryLabel } from '../categories.ts'
import { formatCount, formatQuantity } from '../quantities.ts'
import { commandsOf } from './deployments.ts'
import { describeIncident } from './incidents.ts'
import { type LossCounts, type RecentLosses, sumLosses } from './losses.ts'
import { type CategoryLimit, concernsErrors, type Problem, type UpstreamProblem } from './problems.ts'
import type { Situation, SituationState } from './situation.ts'
import { NOT_SENTRY, nameUpstreamError, remedyOfDecline, remedyOfStatus } from './upstream-errors.ts'
import { hostOf } from './upstreams.ts'

/** `unknown`: the browser is not connected to the console. */
export type VerdictState = SituationState | 'unknown'

export type Verdict = {
  state: VerdictState
  /** Cause, what is safe, what expires when, and what to do. */
  text: string
  /** Number of lost envelopes, for readers who do not see it beside the text. */
  lost: string
  /** Last incident, in a calm state. */
  incident?: string
  /** Further problems, a sentence each. */
  others: string[]
}

/** Times are in milliseconds since 1970. `format` says when, for a sentence: "07:09", "tomorrow 07:09". */
export type Clock = { now: number; format: (time: number) => string }

/** Formats times in UTC, for those whose time zone is unknown: "11:48 UTC", with the day unless it is that of `now`. */
export function utcClock(now: number): Clock {
  const today = new Date(now).toISOString().slice(0, 'YYYY-MM-DD'.length)
  return {
    now,
    format(time) {
      const [day = '', clock = ''] = new Date(time).toISOString().split('T')
      return `${day === today ? '' : `${day} `}${clock.slice(0, 5)} UTC`
    },
  }
}

export const STATE_WORDS: Record<VerdictState, string> = {
  ...{ ok: 'OK', degraded: 'Degraded', outage: 'Outage', unknown: 'Unknown' },
}

export function describeSituation(situation: Situation, clock: Clock): Verdict {
  const { state, problems } = situation
  const problem = firstProblem(situation)
  const action = problem ? findAction(problem, situation, clock) : findHint(situation)
  const others = problems.filter((each) => each !== problem)
  return {
    state,
    text: `${describeFacts(situation, clock)} ${action}`,
    lost: describeLost(situation),
    ...describeLast(situation, clock),
    others: others.map((each) => describeProblem(each, clock)),
  }
}

const INCIDENT_SHOWN_MS = 24 * 60 * 60_000

/** Describes the last incident of a day in a calm state, unless it is a gap that is among the problems. */
function describeLast(
  { state, problems, incidents }: Situation,
  { now, format }: Clock,
): { incident?: string } {
  const [last] = incidents
  if (state !== 'ok' || last?.until === undefined || last.until < now - INCIDENT_SHOWN_MS) return {}
  if (last.kinds.includes('gap') && problems.some(({ kind }) => kind === 'gap')) return {}
  return { incident: `Last incident: ${describeIncident(last, format)}` }
}

/** Returns the most severe problem; none in a calm state. */
function firstProblem({ state, problems }: Situation): Problem | undefined {
  return state === 'ok' ? undefined : problems[0]
}

/** Describes the last known situation, without an action. `since` is its time. */
export function describeDisconnection(situation: Situation, clock: Clock, since: number): Verdict {
  const last = STATE_WORDS[situation.state]
  const text = `No connection to the console since ${clock.format(since)}. Last known state: ${last}. ${describeFacts(situation, clock)}`
  return { state: 'unknown', text, lost: describeLost(situation), others: [] }
}

function describeFacts(situation: Situation, clock: Clock): string {
  const problem = firstProblem(situation)
  if (!problem) return describeCalm(situation, clock)
  return [
    describeProblem(problem, clock),
    ...(problem.kind === 'no-replica' ? ['Spooled envelopes stay on disk.'] : describePending(situation)),
    ...describeExpiry(situation, clock),
  ].join(' ')
}

function describeCalm(situation: Situation, clock: Clock): string {
  const since = situation.since === undefined ? '' : ` since ${clock.format(situation.since)}`
  return [`No problems${since}.`, ...describePending(situation), ...describeExpiry(situation, clock)].join(
    ' ',
  )
}

const NO_LOSSES: LossCounts = { expired: 0, evicted: 0, unavailable: 0, vanished: 0 }

/** Explains past losses. */
function findHint({ week: { losses } }: Situation): string {
  const { expired, evicted, unavailable, vanished } = losses ?? NO_LOSSES
  const hints = [
    ...(unavailable > 0 ? ['Rejections lists the reasons of past losses.'] : []),
    ...(expired > 0 ? ['Envelopes expired in the spool: raise SPOOL_HOURS.'] : []),
    ...(evicted > 0 ? ['The spool had no space for all envelopes: raise SPOOL_BYTES.'] : []),
    ...(vanished > 0 ? ['The store of the spool lost envelopes: see CulvertSpoolLost in the runbook.'] : []),
  ]
  return hints.length > 0 ? hints.join(' ') : 'No action needed.'
}

/** Entries of `docs/runbook.md`. */
const RUNBOOK: Record<Problem['kind'], string | undefined> = {
  'no-replica': 'CulvertAway',
  'stores-differ': undefined,
  losing: 'CulvertLosesEnvelopesFast',
  'spool-failing': 'CulvertSpoolUnwritable',
  'spool-silent': 'CulvertSpoolUnwritable',
  upstream: 'CulvertBreakerOpen',
  refused: undefined,
  declined: 'CulvertSentryDeclines',
  'mostly-declined': 'CulvertSentryDeclines',
  'mostly-rejected': 'CulvertRejectsMost',
  'damaged-file': 'CulvertSpoolDamaged',
  'figures-missing': undefined,
  'replicas-away': 'CulvertReplicaDown',
  paused: 'CulvertSpoolPaused',
  silence: 'CulvertNoEnvelopes',
  storm: 'CulvertErrorStorm',
  'rate-limited': 'CulvertSentryLimitsErrors',
  mirror: 'CulvertMirrorBehind',
  gap: undefined,
}
const LOST_BY_STORE = 'CulvertSpoolLost'

/** Returns the entry of the runbook for the first problem, or for past losses of the spool's store. */
export function findRunbookEntry(situation: Situation): string | undefined {
  const { problems, week } = situation
  const { losses } = week
  const problem = firstProblem(situation)
  if (!problem) return losses && losses.vanished > 0 ? LOST_BY_STORE : undefined
  const cause = (problem.kind === 'losing' && findSpoolProblem(problems)) || problem
  if (cause.kind === 'rate-limited' && !cause.limits.some(concernsErrors)) return undefined
  if (cause.kind !== 'losing') return RUNBOOK[cause.kind]
  const { vanished, ...others } = cause.losses
  return vanished > Math.max(...Object.values(others)) ? LOST_BY_STORE : RUNBOOK.losing
}

function findSpoolProblem(problems: readonly Problem[]): Problem | undefined {
  return problems.find(({ kind }) => kind === 'spool-failing' || kind === 'spool-silent')
}

function describeLost({ week: { losses, missing } }: Situation): string {
  if (!losses) return 'Number of lost envelopes unknown.'
  const known = missing === undefined ? '' : 'At least '
  return `${known}${formatQuantity(sumLosses(losses), 'envelope')} lost in the last 7 days.`
}

/** Counts pending envelopes; says nothing without a spool. */
function describePending({ spools }: Situation): string[] {
  if (spools.length === 0) return []
  const isUnknown = spools.some(({ envelopes }) => envelopes === undefined)
  return [isUnknown ? 'Number of pending envelopes unknown.' : `${formatCount(pendingIn(spools))} pending.`]
}

function pendingIn(spools: Situation['spools']): number {
  return spools.reduce((sum, { envelopes = 0 }) => sum + envelopes, 0)
}

/** Returns when the oldest pending envelope expires. */
function firstExpiry({ spools }: Situation): number | undefined {
  const times = spools.flatMap(({ oldest, max_age_ms }) =>
    oldest === undefined ? [] : [oldest + max_age_ms],
  )
  return times.length > 0 ? Math.min(...times) : undefined
}

/** Returns nothing while a server refuses envelopes: it declines them long before they expire. */
function describeExpiry(situation: Situation, { format }: Clock): string[] {
  if (firstProblem(situation)?.kind === 'refused') return []
  const expiry = firstExpiry(situation)
  return expiry === undefined ? [] : [`First expiry ${format(expiry)}.`]
}

/** Describes one problem in a sentence or two. */
export function describeProblem(problem: Problem, { format }: Clock): string {
  switch (problem.kind) {
    case 'no-replica':
      return `No tunnel ${problem.since === undefined ? 'responds' : `has responded since ${format(problem.since)}`}. New envelopes may be lost.`
    case 'stores-differ': {
      const who =
        problem.others === 0
          ? `${problem.name} uses`
          : `${problem.name} and ${formatQuantity(problem.others, 'more tunnel')} use`
      return `${who} another store than the other tunnels. The console does not show its envelopes.`
    }
    case 'losing':
      return describeLosses(problem.losses)
    case 'spool-failing': {
      const reason = problem.reason === undefined ? '' : ` (${problem.reason})`
      const loss = problem.is_losing ? ' Sentry is unreachable as well: new envelopes are lost.' : ''
      return `The spool has accepted no envelopes since ${format(problem.since)}${reason}.${loss}`
    }
    case 'spool-silent':
      return `The spool does not respond${problem.reason === undefined ? '' : ` (${problem.reason})`}.`
    case 'upstream':
      return describeUpstream(problem, format)
    case 'refused':
      return describeRefusal('has refused the', problem, format)
    case 'declined':
      return `${describeRefusal('has declined all', problem, format)} Declined so far: ${formatCount(problem.refusal.count)}.`
    case 'mostly-declined':
      return `Sentry has declined ${formatCount(problem.count)} of ${formatQuantity(problem.total, 'envelope')} since ${format(problem.since)}.`
    case 'mostly-rejected':
      return `Culvert has rejected or limited ${formatCount(problem.count)} of ${formatQuantity(problem.total, 'envelope')} since ${format(problem.since)}. The most frequent reason is ${nameResult(problem.result)}.`
    case 'damaged-file':
      return `${formatQuantity(problem.files, 'damaged spool file')} set aside, with an unknown number of envelopes.`
    case 'figures-missing':
      return `${problem.text} It is not known whether envelopes were lost.`
    case 'replicas-away': {
      const others = problem.others > 0 ? ` and ${formatCount(problem.others)} more have` : ' has'
      return `${hostOf(problem.name)}${others} not responded since ${format(problem.since)}.`
    }
    case 'paused': {
      const others =
        problem.others > 0 && problem.project !== undefined
          ? ` and ${formatQuantity(problem.others, 'more project')}`
          : ''
      return `Delivery from the spool has been paused since ${format(problem.since)} for ${problem.project ?? 'all projects'}${others}.`
    }
    case 'silence':
      return `No report of a browser accepted for ${formatQuantity(problem.minutes, 'minute')}, although ${formatQuantity(problem.loads, 'page')} loaded sdk.js.`
    case 'storm': {
      const { storm, others } = problem
      const more = others > 0 ? `, and ${formatQuantity(others, 'more storm')}` : ''
      return `Storm: ${formatQuantity(storm.seen, 'identical error')} of ${storm.project} since ${format(storm.since)}${more}.`
    }
    case 'rate-limited': {
      const { limits, dropped } = problem
      const count = dropped && formatQuantity(dropped.count, 'error')
      return `${describeLimits(limits, format)}${dropped ? ` ${count} dropped since ${format(dropped.since)}.` : ''}`
    }
    case 'mirror': {
      const { host, others, since, error, status } = problem
      const more = others > 0 ? ` and ${formatCount(others)} more` : ''
      const start = since === undefined ? '' : ` since ${format(since)}`
      return status === undefined
        ? `Mirror ${host}${more} unreachable${start} (${nameUpstreamError(error)}).`
        : `Mirror ${host}${more} ${start === '' ? 'refuses' : 'has refused'} envelopes${start} (HTTP ${status}).`
    }
    case 'gap':
      return `No tunnel ran ${format(problem.since)}–${format(problem.until)}; reports sent then are not counted.`
  }
}

function describeLosses(losses: RecentLosses): string {
  const lost = `${formatQuantity(sumLosses(losses), 'envelope')} lost in the last 3 min.`
  if (losses.full_rate === 0) return lost
  const rate = losses.full_rate < 1 ? 'less than 1' : formatCount(Math.round(losses.full_rate))
  return `The spool is full: new reports are being lost, ${rate} a second. ${lost}`
}

function describeRefusal(
  verb: string,
  { refusal, others }: Extract<Problem, { kind: 'refused' | 'declined' }>,
  format: Clock['format'],
): string {
  const { project, status, message, first } = refusal
  const text = message === undefined ? '' : `: “${message}”`
  const more = others > 0 ? ` and of ${formatQuantity(others, 'more project')}` : ''
  return `${hostOf(project)} ${verb} envelopes of ${project}${more} since ${format(first)} (HTTP ${status}${text}).`
}

/** Returns the reason of a result, as the page Rejections names it. */
function nameResult(result: string): string {
  return result.split(':')[1] ?? result
}

function describeUpstream(problem: UpstreamProblem, format: Clock['format']): string {
  const { is_total, servers, all_servers, origin, replicas, all_replicas, since, error } = problem
  const many = `${formatCount(servers)} of ${formatCount(all_servers)} Sentry servers`
  const name = is_total ? 'Sentry' : servers > 1 ? many : hostOf(origin)
  const where =
    !is_total && servers === 1 && replicas < all_replicas ? ` on ${replicas} of ${all_replicas} replicas` : ''
  const start = since === undefined ? '' : ` since ${format(since)}`
  return `${name} unreachable${where}${start} (${nameUpstreamError(error)}).`
}

/** Says where a setting is changed, and how the change is applied. */
function applied({ deployment }: Situation): string {
  const { settings, apply } = commandsOf(deployment)
  return `in ${settings}, and ${apply}`
}

const SEND_AGAIN = 'The spool keeps declined envelopes for up to a week. Send them again on the page Spool.'

/** Reasons for which the page Rejections has a line for the settings. */
const WITH_LINE = ['dsn-unknown', 'origin-foreign', 'envelope-too-large']

function remedyOfResult(reason: string): string {
  if (WITH_LINE.includes(reason))
    return 'the page Rejections shows the request, and the line that accepts it.'
  return OWN_LIMITS[reason] ?? 'the page Rejections shows a request and its remedy.'
}

const OWN_LIMITS: Readonly<Record<string, string>> = {
  throttled:
    'the live feed shows a page that reports in a loop. If many visitors share one address, set TRUSTED_PROXIES; otherwise raise ADDRESS_RATE.',
  quota: 'raise QUOTA, or wait for the next period. The page Policies shows the use.',
  'quota-address':
    'the live feed shows a page that reports in a loop. If many visitors share one address, set TRUSTED_PROXIES.',
}

/** Remedies of errors that do not end by themselves. */
const UPSTREAM_ACTIONS: Partial<Record<NonNullable<UpstreamProblem['error']>['class'], string>> = {
  dns: 'check the host in SENTRY_DSN, and the DNS of this machine.',
  tls: 'check the certificate of the server, and CA_FILE.',
  proxy: 'check HTTPS_PROXY.',
  redirect: 'check the host in SENTRY_DSN.',
  response: NOT_SENTRY,
}

function findAction(problem: Problem, situation: Situation, clock: Clock): string {
  switch (problem.kind) {
    case 'no-replica':
      return `Act now: ${commandsOf(situation.deployment).inspect}.`
    case 'stores-differ':
      return 'Act: set the same SPOOL_URL for all tunnels: one file that they share on one machine, or NATS on several. Then deliver what the other store has with npm run store -- drain.'
    case 'losing': {
      const cause = findSpoolProblem(situation.problems)
      return cause ? findAction(cause, situation, clock) : `Act now: ${remedyOf(problem.losses, situation)}`
    }
    case 'spool-failing':
      return 'Act now: check the disk or the NATS server of SPOOL_URL.'
    case 'spool-silent':
      return 'Act: check the disk or the NATS server of SPOOL_URL.'
    case 'upstream':
      return findUpstreamAction(problem, situation, clock)
    case 'refused':
      return `Each of these envelopes is declined one hour after its arrival. Act before then: ${remedyOfStatus(problem.refusal.status)}`
    case 'declined':
      return `Act now: ${remedyOfDecline(problem.refusal.status)} ${SEND_AGAIN}`
    case 'mostly-declined':
      return `Act: the live feed shows the envelopes, and Sentry’s answers. ${SEND_AGAIN}`
    case 'mostly-rejected':
      return `Act now: ${remedyOfResult(nameResult(problem.result))}`
    case 'damaged-file':
      return 'Act: put the envelopes of the damaged file back. The runbook entry CulvertSpoolDamaged has the steps.'
    case 'figures-missing':
      return 'Act if it lasts: check the disk or the NATS server of SPOOL_URL.'
    case 'replicas-away':
      return `Act: the page Replicas shows each. To see why, ${commandsOf(situation.deployment).inspect}.`
    case 'paused': {
      const expiry = firstExpiry(situation)
      const until = expiry === undefined ? '' : ` before ${clock.format(expiry)}`
      return `Act${until}: resume it on the page Spool.`
    }
    case 'silence':
      return 'Act: open a page of your site, and look at its requests to the tunnel path. A content security policy, a proxy or a filter in front of nginx may stop them; npm run doctor tests the route.'
    case 'storm':
      return problem.storm.mode === 'enforce'
        ? 'Act: fix the error, which the page Policies names. Beyond STORM_LIMIT, 1 in 100 is sent.'
        : 'Act: fix the error, which the page Policies names. Sentry gets all of these errors. To send only 1 in 100 above the limit, add enforce to STORM_LIMIT.'
    case 'rate-limited':
      return problem.limits.some(concernsErrors)
        ? 'Items of these categories are dropped until their limit ends. Act if it lasts: raise the quota on the server, or set QUOTA or STORM_LIMIT.'
        : 'No action needed. Check the quota in Sentry if it lasts.'
    case 'mirror':
      if (problem.is_decline) return `Act: ${remedyOfDecline(problem.status ?? 0)}`
      return problem.status === undefined
        ? 'The spool keeps the envelopes for the mirror. They do not delay the project itself. Act if it lasts: check the server of the mirror.'
        : `Each of these envelopes is declined for the mirror one hour after its arrival. Act before then: ${remedyOfStatus(problem.status)}`
    case 'gap':
      return 'No action needed.'
  }
}

const LIMITS_NAMED = 3

/** Names the limits with their ends; those on errors come first. */
function describeLimits(limits: readonly CategoryLimit[], format: Clock['format']): string {
  const named = limits.slice(0, LIMITS_NAMED).map(({ category, until }) => {
    const name =
      category === 'all' ? 'all envelopes' : category === 'error' ? 'errors' : categoryLabel(category)
    return `${name} until ${format(until)}`
  })
  const others = limits.length - named.length
  const more = others > 0 ? [`and ${formatCount(others)} more`] : []
  return `Sentry rate-limits ${[...named, ...more].join(', ')}.`
}

/** Returns the remedy for the most frequent kind of these losses. */
function remedyOf(
  { expired, evicted, unavailable, vanished, full_rate }: RecentLosses,
  situation: Situation,
): string {
  const most = Math.max(expired, evicted, unavailable, vanished)
  if (most === unavailable && full_rate === 0) return 'see Rejections.'
  if (most === unavailable || most === evicted) return `raise SPOOL_BYTES ${applied(situation)}.`
  return most === expired
    ? `raise SPOOL_HOURS ${applied(situation)}.`
    : 'see CulvertSpoolLost in the runbook.'
}

function findUpstreamAction(
  { error, has_responded }: UpstreamProblem,
  situation: Situation,
  clock: Clock,
): string {
  const remedy = error && UPSTREAM_ACTIONS[error.class]
  if (remedy) return `Act: ${remedy}`
  const expiry = firstExpiry(situation)
  const full = firstFull(situation, clock.now)
  if (full !== undefined && (expiry === undefined || full < expiry))
    return `Act before ${clock.format(full)}, when the spool or its disk is full: free disk space, or raise SPOOL_BYTES ${applied(situation)}.`
  const maxAgeMs = Math.min(...situation.spools.map(({ max_age_ms }) => max_age_ms))
  if (expiry !== undefined && expiry - clock.now < maxAgeMs * EXPIRY_SHARE)
    return `Act before ${clock.format(expiry)}: raise SPOOL_HOURS ${applied(situation)}.`
  return has_responded
    ? 'No action needed.'
    : 'Act: it has not responded since the tunnels started. Check host and port in SENTRY_DSN, and whether this machine may connect to it.'
}

/** Share of the age limit that is left when an operator has to act. */
const EXPIRY_SHARE = 0.25

function firstFull({ spools }: Situation, now: number): number | undefined {
  const times = spools.flatMap(({ full_in_seconds: seconds }) =>
    seconds === undefined ? [] : [now + seconds * 1000],
  )
  return times.length > 0 ? Math.min(...times) : undefined
}
