/** Reads posts of browsers: one CSP report of `report-uri`, or a batch of the Reporting API. All work is bounded. */

import { isObject, type Json, text } from 'contract/json'
import { Rejection } from 'contract/rejections'
import type { BrowserReport, ReportBody } from 'contract/report-types'
import { maxValues } from '../envelope/header-parser.ts'

const KIB = 1024

/** Bytes of a whole post. Chromium sends up to 100 reports at once, each with its policy. */
export const MAX_POST_BYTES = 1024 * KIB
/** Reports of a batch: Chromium keeps no more (net/reporting/reporting_policy.h `max_report_count`). */
export const MAX_REPORTS = 100
const MAX_REPORT_BYTES = 64 * KIB
/** Characters of a sample. Browsers cut it to 40 (w3.org/TR/CSP3 §5.3), besides the name of the sink. */
const MAX_SAMPLE_LENGTH = 1024
/** Values of a whole post, members and commas in texts included. 100 reports of a browser have some 2,000. */
const MAX_VALUES = 5_000
/** Members of a body. The largest type has 13. */
const MAX_MEMBERS = 32
const MAX_TYPE_LENGTH = 64
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1000

/** Reader of each content type. Relay accepts `application/json` for both formats, as some browsers and libraries send it. */
const READERS: ReadonlyMap<string, (json: unknown) => readonly unknown[]> = new Map([
  ['application/csp-report', (json: unknown) => [json]],
  ['application/reports+json', membersOf],
  ['application/json', membersOf],
])

/** Returns the content type without parameters. Throws a `Rejection` when it is not one of reports. */
export function checkContentType(header: string | undefined): string {
  const [type = ''] = (header ?? '').split(';', 1)
  const contentType = type.trim().toLowerCase()
  if (READERS.has(contentType)) return contentType
  throw new Rejection('report-content-type', header ? `It is ${header.slice(0, 100)}.` : 'It is missing.')
}

/**
 * Returns each report of a post: as it was read, or as the `Rejection` that applies to it alone. Throws a `Rejection` for a post that
 * cannot be read as a whole.
 */
export function readReports(contentType: string, post: Buffer): (BrowserReport | Rejection)[] {
  if (post.length === 0) throw new Rejection('empty-body')
  if (maxValues(post) > MAX_VALUES)
    throw new Rejection('report-too-large', `The post has more than ${MAX_VALUES} values.`)
  const members = READERS.get(contentType)?.(parseJson(post)) ?? []
  if (members.length === 0) throw new Rejection('report-malformed', 'The batch is empty.')
  if (members.length > MAX_REPORTS)
    throw new Rejection(
      'reports-too-many',
      `It has ${members.length} reports; the maximum is ${MAX_REPORTS}.`,
    )
  return members.map(readMember)
}

function membersOf(json: unknown): readonly unknown[] {
  return Array.isArray(json) ? json : [json]
}

function parseJson(post: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(post))
  } catch {
    throw new Rejection('report-malformed', 'The body is not JSON in UTF-8.')
  }
}

function readMember(member: unknown): BrowserReport | Rejection {
  try {
    return readReport(member)
  } catch (error) {
    if (error instanceof Rejection) return error
    throw error
  }
}

function readReport(json: unknown): BrowserReport {
  if (!isObject(json)) throw new Rejection('report-malformed', 'A report is not an object.')
  const legacy = json['csp-report']
  const members = legacy ?? json.body
  if (!isObject(members)) throw new Rejection('report-malformed', 'A report has no body.')
  const body = readBody(members)
  const read = legacy === undefined ? readReportingApi(json, body) : readReportUri(body)
  const bytes = Buffer.byteLength(JSON.stringify([read.url, body]))
  if (bytes > MAX_REPORT_BYTES)
    throw new Rejection('report-too-large', `A report is larger than ${MAX_REPORT_BYTES} bytes.`)
  return { ...read, body, bytes }
}

type Metadata = Omit<BrowserReport, 'body' | 'bytes'>

function readReportingApi({ type, url, age }: Json, body: ReportBody): Metadata {
  if (typeof type !== 'string' || !/^[\w-]+$/.test(type) || type.length > MAX_TYPE_LENGTH)
    throw new Rejection('report-malformed', 'A report has no type.')
  const ageMs = typeof age === 'number' && age > 0 ? Math.min(age, MAX_AGE_MS) : 0
  return { type, url: typeof url === 'string' && url !== '' ? url : text(body.documentURL), ageMs }
}

function readReportUri(body: ReportBody): Metadata {
  return { type: 'csp-violation', url: text(body['document-uri']), ageMs: 0 }
}

/** Keeps scalar members. A nested value would have to be bounded on its own, and no type has one that is shown. */
function readBody(members: Json): ReportBody {
  const entries = Object.entries(members)
  if (entries.length > MAX_MEMBERS)
    throw new Rejection('report-too-large', `A report has more than ${MAX_MEMBERS} members.`)
  const body: Record<string, string | number | boolean> = {}
  for (const [name, value] of entries) {
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') continue
    if (typeof value === 'string' && SAMPLES.has(name) && value.length > MAX_SAMPLE_LENGTH)
      throw new Rejection('report-too-large', `A sample is longer than ${MAX_SAMPLE_LENGTH} characters.`)
    body[name] = value
  }
  return body
}

const SAMPLES: ReadonlySet<string> = new Set(['sample', 'script-sample'])
