/** Stages of a post of browser reports. Each report becomes an envelope, which then passes the stages of `http/ingest.ts`. */

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FilteredReason } from 'contract/admin-api'
import { isOfHost, type OriginSet } from 'contract/origins'
import { Rejection } from 'contract/rejections'
import { type BrowserReport, REPORT_TYPES, type ReportSettings, type ReportType } from 'contract/report-types'
import { createBody } from '../envelope/body/own-body.ts'
import { EnvelopeReader } from '../envelope/reader.ts'
import {
  type Context,
  type HttpResponse,
  jsonHeaders,
  type Outcome,
  type Parts,
  type Stage,
} from '../pipeline/pipeline.ts'
import type { Refusable } from '../policy/rate-limited.ts'
import { addressLimited, RESERVED_FROM_REPORTS } from '../policy/throttle.ts'
import { checkContentType, MAX_POST_BYTES, readReports } from '../reports/formats.ts'
import { translate } from '../reports/translation.ts'
import { checkOrigin } from './origin.ts'
import { findProject } from './query.ts'
import type { ReceiveServices } from './receive.ts'

export type ReportServices = ReceiveServices & {
  allowedOrigins: OriginSet
  browserReports: ReportSettings
  /** Tunnel paths, without final slashes. */
  tunnelPaths: readonly string[]
}

/** Runs the stages of one report, and returns its response. */
type Run = (post: Post, stage: Stage) => Promise<HttpResponse>

/** Post of browser reports, as its stages have left it. */
type Post = Parts<'incoming' | 'client' | 'receipt' | 'foreignOrigin' | 'project' | 'addressBudget' | 'body'>

/**
 * Rejects posts of pages of other sites. Browsers post reports without an Origin or with `null` (docs/install.md): then the URL of
 * each report decides.
 */
export function checkReportOriginStage(allowed: OriginSet): Stage<'incoming', 'foreignOrigin'> {
  return function checkReportOrigin(ctx) {
    if (hasOrigin(ctx.incoming.headers)) ctx.foreignOrigin = checkOrigin(ctx.incoming.headers, allowed)
    return undefined
  }
}

/** Receives the body, up to `MAX_POST_BYTES`, after the project and the content type are known. */
export function receiveReportsStage({
  bodies,
  openBodies,
  projects,
}: ReportServices): Stage<'incoming' | keyof Refusable, 'project' | 'body' | 'receipt'> {
  return async function receiveReportPost(ctx) {
    const { incoming } = ctx
    const project = findProject(incoming.url ?? '', projects)
    if (!project) throw new Rejection('report-project-unknown')
    ctx.project = project
    ctx.receipt.project = project.name
    checkContentType(incoming.headers['content-type'])
    if ((incoming.headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new Rejection('encoding-unknown', 'Browser reports are not compressed.')
    checkSize(Number(incoming.headers['content-length'] ?? 0))
    let bytes = 0
    return openBodies.receive(ctx, () =>
      bodies.receive(incoming, (chunk) => {
        bytes += chunk.length
        checkSize(bytes)
      }),
    )
  }
}

function checkSize(bytes: number): void {
  if (bytes > MAX_POST_BYTES)
    throw new Rejection('report-too-large', `The post is larger than ${MAX_POST_BYTES} bytes.`)
}

/** Runs each report of the post as an envelope with an outcome of its own; the post itself has none. */
export function runReportsStage(services: ReportServices, run: Run): Stage<keyof Post> {
  return async function runReports(post) {
    const { headers } = post.incoming
    const reports = readReports(checkContentType(headers['content-type']), await wholeOf(post))
    const responses = await Promise.all(
      reports.map((report, index) => run(post, reportStage(report, index, post, services))),
    )
    return summarizeResponses(responses)
  }
}

/**
 * Builds the response to the post. After any other response than 2xx, Chromium sends the whole batch again: it has to when the tunnel has
 * lost a report, and must not when no report would be accepted the next time either. Receipts have the status of each report.
 */
function summarizeResponses(responses: readonly HttpResponse[]): Outcome {
  const [first, ...others] = responses
  if (!first) throw new Error('the post has no reports')
  const decisive = others.reduce((most, next) => (ranked(next) < ranked(most) ? next : most), first)
  return isPermanent(decisive) ? { ...decisive, status: 200 } : decisive
}

/** Returns the rank of a response among those of its batch. The lowest decides. */
function ranked(response: HttpResponse): number {
  if (response.status >= 500) return 0
  if (response.status < 300) return 1
  return isPermanent(response) ? 3 : 2
}

/** Returns `true` if the same report would be rejected again. Only a rate limit ends. */
function isPermanent({ status }: HttpResponse): boolean {
  return status >= 400 && status < 500 && status !== 429
}

async function wholeOf({ body }: Parts<'body'>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of body.decompressed()) chunks.push(chunk)
  return Buffer.concat(chunks, body.wireBytes)
}

/** Turns a report into an envelope, which the next stage parses. */
function reportStage(
  report: BrowserReport | Rejection,
  index: number,
  post: Post,
  services: ReportServices,
): Stage<
  'incoming' | keyof Refusable,
  'foreignOrigin' | 'project' | 'addressBudget' | 'parser' | 'body' | 'receipt'
> {
  return function translateReport(ctx) {
    ctx.foreignOrigin = post.foreignOrigin
    ctx.project = post.project
    ctx.receipt.project = post.project.name
    const isFirst = index === 0 // the post was charged once
    ctx.addressBudget = isFirst ? post.addressBudget : chargeAddress(ctx, services)
    if (ctx.addressBudget < 0) return addressLimited(ctx)
    if (report instanceof Rejection) throw report
    ctx.receipt.bytes = report.bytes
    checkReportedOrigin(report, ctx.incoming.headers, services.allowedOrigins)
    if (!isForwarded(report, services.browserReports.types)) return filtered('report-type')
    if (isOwnPath(report, ctx.incoming.headers, services.tunnelPaths)) return filtered('report-own-path')
    parse(ctx, translate(report, translationOf(ctx, index, services.browserReports)), services)
    return undefined
  }
}

function chargeAddress({ client }: Parts<'client'>, { throttle }: ReportServices): number {
  return throttle.charge(client.address, 0, RESERVED_FROM_REPORTS)
}

function isForwarded(
  report: BrowserReport,
  types: ReadonlySet<ReportType>,
): report is BrowserReport & { type: ReportType } {
  return REPORT_TYPES.some((type) => type === report.type && types.has(type))
}

/** Returns `true` if a report is about a request to Culvert. A request that fails while Sentry is away would cause a report each time. */
function isOwnPath(
  { url }: BrowserReport,
  { host }: IncomingHttpHeaders,
  tunnelPaths: readonly string[],
): boolean {
  const parsed = URL.parse(url)
  if (!parsed || !isOfHost(parsed, host)) return false
  return [...tunnelPaths, ...OWN_PATHS].some((path) => `${parsed.pathname}/`.startsWith(`${path}/`))
}

const OWN_PATHS = ['/console', '/healthz']

function filtered(reason: FilteredReason): Outcome {
  return { outcome: 'filtered', reason, status: 200, body: '{}', headers: jsonHeaders() }
}

function translationOf(
  ctx: Parts<'client' | 'incoming' | 'project'> & Pick<Context, 'receipt'>,
  index: number,
  { release, environment }: ReportSettings,
) {
  const eventId = eventIdOf(ctx.client.requestId, index)
  ctx.receipt.event_id = eventId
  const userAgent = ctx.incoming.headers['user-agent']
  return { dsn: ctx.project.key, eventId, time: ctx.receipt.time, userAgent, release, environment }
}

/** Returns an event ID that stays the same when nginx sends the post again, so that Sentry counts each report once. */
function eventIdOf(requestId: string, index: number): string {
  return createHash('sha256').update(`${requestId} ${index}`).digest('hex').slice(0, 32)
}

function parse(
  ctx: Pick<Context, 'parser' | 'body'>,
  envelope: Buffer,
  { memory, reader }: ReportServices,
): void {
  const parser = new EnvelopeReader(reader, { memory })
  ctx.parser = parser
  ctx.body = createBody(envelope, memory)
  parser.push(envelope)
}

/**
 * Throws a `Rejection` for a report about a page of another origin, which any server can post. Documents without a host, such as
 * `about:srcdoc`, pass when the browser has named the origin of the page.
 */
function checkReportedOrigin({ url }: BrowserReport, headers: IncomingHttpHeaders, allowed: OriginSet): void {
  const parsed = URL.parse(url)
  const isWeb = parsed?.protocol === 'https:' || parsed?.protocol === 'http:'
  if (!parsed || !isWeb) {
    if (hasOrigin(headers)) return
    throw new Rejection('report-origin-missing')
  }
  if (isOfHost(parsed, headers.host) || allowed.has(parsed.origin)) return
  throw new Rejection('report-foreign', `It is about ${parsed.origin.slice(0, 200)}.`)
}

function hasOrigin({ origin }: IncomingHttpHeaders): boolean {
  return origin !== undefined && origin !== 'null'
}
