/**
 * Translates browser reports into envelopes, so that spool, limits, receipts and inbox treat them as any other.
 *
 * Relay's endpoints do the same: `/security/` makes an envelope with one item `raw_security` (relay-server/src/endpoints/security_report.rs),
 * and that item is accepted from outside with the same result. `/nel/` makes an item `integration`, which is not accepted from outside, and
 * expands it into logs (relay-server/src/processing/logs/integrations/nel.rs); here the item `log` with the same attributes takes its place.
 * Relay's endpoints for `coop` and `integrity-violation` make items that are not accepted from outside either, and it has none for the other
 * types. All of these become events, which Sentry groups.
 */

import { createHash } from 'node:crypto'
import type { BrowserReport, ReportBody, ReportType } from 'contract/report-types'
import { networkLogOf } from './network-log.ts'

export type Translation = {
  /** DSN of the project. */
  dsn: string
  /** 32 hex digits. */
  eventId: string
  /** Time of the post, in milliseconds since 1970. */
  time: number
  userAgent: string | undefined
  release: string | undefined
  environment: string
}

/** Builds the envelope of a report whose type is one of `REPORT_TYPES`. */
export function translate(report: BrowserReport & { type: ReportType }, context: Translation): Buffer {
  const { dsn, eventId, time } = context
  // The ID also tells equal network errors apart, of which the spool would keep one.
  const header = { event_id: eventId, dsn, sent_at: new Date(time).toISOString() }
  if (report.type === 'network-error') {
    const log = networkLogOf(report, context)
    return envelopeOf(header, log.header, log.payload)
  }
  if (report.type === 'csp-violation')
    return envelopeOf(header, securityHeader(context), { 'csp-report': cspReportOf(report) })
  return envelopeOf(header, { type: 'event' }, eventOf(report, report.type, context))
}

function envelopeOf(header: object, itemHeader: object, payload: object): Buffer {
  const json = JSON.stringify(payload)
  const item = { ...itemHeader, length: Buffer.byteLength(json) }
  return Buffer.from(`${JSON.stringify(header)}\n${JSON.stringify(item)}\n${json}\n`)
}

/** Header keys that Relay's endpoint sets from its query (`sentry_release`, `sentry_environment`). */
function securityHeader({ release, environment }: Translation): object {
  return {
    type: 'raw_security',
    content_type: 'application/json',
    ...(release && { sentry_release: release }),
    sentry_environment: environment,
  }
}

/** Names of the Reporting API, and those of `report-uri`, which every version of Relay reads (`CspRaw`). */
const CSP_NAMES: ReadonlyMap<string, string> = new Map([
  ['documentURL', 'document-uri'],
  ['blockedURL', 'blocked-uri'],
  ['effectiveDirective', 'effective-directive'],
  ['violatedDirective', 'violated-directive'],
  ['originalPolicy', 'original-policy'],
  ['sourceFile', 'source-file'],
  ['lineNumber', 'line-number'],
  ['columnNumber', 'column-number'],
  ['statusCode', 'status-code'],
  ['sample', 'script-sample'],
])

function cspReportOf({ body, url }: BrowserReport): ReportBody {
  const members = Object.entries(body).map(([name, value]) => [CSP_NAMES.get(name) ?? name, value])
  const report: Record<string, string | number | boolean> = Object.fromEntries(members)
  report['document-uri'] = url // whose origin was checked, unlike that of the members
  report['violated-directive'] ??= report['effective-directive'] ?? ''
  return report
}

/** Members that identify the cause of each type, which the title names, and by which Sentry groups. */
const CAUSES: Readonly<Record<Exclude<ReportType, 'csp-violation' | 'network-error'>, readonly string[]>> = {
  crash: ['reason'],
  'integrity-violation': ['blockedURL', 'destination'],
  'permissions-policy-violation': ['policyId', 'featureId', 'disposition'],
  coop: ['type', 'effectivePolicy', 'property', 'disposition'],
  coep: ['type', 'blockedURL', 'destination', 'disposition'],
  deprecation: ['id'],
  intervention: ['id'],
}

const TITLES: Readonly<Record<keyof typeof CAUSES, string>> = {
  crash: 'The page crashed',
  'integrity-violation': 'Blocked by the integrity policy',
  'permissions-policy-violation': 'Blocked by the permissions policy',
  coop: 'Violated the opener policy',
  coep: 'Blocked by the embedder policy',
  deprecation: 'Used a deprecated feature',
  intervention: 'The browser intervened',
}

function eventOf(
  { url, body, ageMs }: BrowserReport,
  type: keyof typeof CAUSES,
  { eventId, time, userAgent, release, environment }: Translation,
): object {
  const causes = CAUSES[type].flatMap((name) => (body[name] === undefined ? [] : [String(body[name])]))
  const title = [TITLES[type], causes.join(', ')].filter(Boolean).join(': ')
  return {
    event_id: eventId,
    timestamp: (time - ageMs) / 1000,
    platform: 'javascript',
    logger: 'browser-report',
    level: type === 'crash' ? 'fatal' : 'warning',
    environment,
    ...(release && { release }),
    logentry: { formatted: typeof body.message === 'string' ? `${title}. ${body.message}` : title },
    fingerprint: ['browser-report', type, causes.length > 0 ? digest(causes) : '{{ default }}'],
    tags: {
      report_type: type,
      ...(typeof body.disposition === 'string' && { disposition: body.disposition }),
    },
    request: { url, ...(userAgent && { headers: { 'User-Agent': userAgent } }) },
    contexts: { browser_report: contextOf(type, body) },
  }
}

/** Returns the body as a context of Sentry, in which `type` has another meaning. */
function contextOf(type: string, body: ReportBody): ReportBody {
  const { type: violation, ...members } = body
  return {
    ...members,
    ...(violation !== undefined && { violation_type: violation }),
    type: 'browser_report',
    report_type: type,
  }
}

/** Shortens causes, which may hold whole URLs. */
function digest(causes: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(causes)).digest('hex').slice(0, 32)
}
