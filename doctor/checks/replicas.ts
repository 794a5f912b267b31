/** Checks through the admin ports: receipts of the doctor's own posts, and the state of every replica. */

import type { Receipt, ReplicaStatus, RequestFlag } from 'contract/admin-api'
import type { ProjectRefusal } from 'contract/upstream'
import type { AdminClient } from '../admin-client.ts'
import {
  type Check,
  type Finding,
  fail,
  pass,
  type Result,
  unknown,
  warn,
  warnWith,
  withAdmin,
  withDsn,
} from '../check.ts'
import { type Deployment, type Post, receiptToken } from '../deployment.ts'
import { reportEnvelope } from '../envelopes.ts'
import type { HttpResponse } from '../request.ts'
import { describeRefusal, refusalOf } from './refusals.ts'

// A documentation address (RFC 5737), credentials that are valid nowhere, and headers that the tunnel accepts from a proxy.
const SPOOFED_ADDRESS = '192.0.2.77'
const SPOOFED_REQUEST_ID = 'c0ffee'.padEnd(32, '0')
const SPOOFED_HEADERS = {
  'x-forwarded-for': SPOOFED_ADDRESS,
  'x-real-ip': SPOOFED_ADDRESS,
  forwarded: `for=${SPOOFED_ADDRESS}`,
  'cf-connecting-ip': SPOOFED_ADDRESS,
  'x-sentry-forwarded-for': SPOOFED_ADDRESS,
  cookie: 'culvert-doctor=1',
  authorization: 'Bearer culvert-doctor',
  'x-request-id': SPOOFED_REQUEST_ID,
  'x-culvert-retry': '1',
}
const SPOOFED_POST = 'the spoofed post'

// Probably another replica accepted the envelope; that says nothing about the deployment.
const NO_RECEIPT = unknown(
  'Not checkable: none of the replicas named has the receipt; name every replica with --admin.',
)
const NO_TOKEN = fail('A response has no receipt: a proxy removes the header x-culvert-receipt.')

export const clientAddress: Check = {
  name: 'client-address',
  after: ['tunnel', 'error'],
  title: 'Clients cannot forge their address',
  verifies: 'The tunnel knows the address from which the client connected. Sentry and rate limits use it.',
  remedy:
    'Overwrite X-Forwarded-For with $remote_addr in the proxy, and list your own proxies in TRUSTED_PROXIES, and nothing else. If EDGE is set, it has to be the address of nginx.',
  run: withDsn(async (deployment, dsn) => {
    const finding = await withSpoofedFlags(deployment, dsn, (flags) => {
      const [problem] = flags.flatMap((flag) => ADDRESS_PROBLEMS[flag] ?? [])
      if (problem !== undefined) return fail(problem)
      return flags.includes('address-list')
        ? warn(
            'The proxy keeps the address that the doctor forged, in a list. The tunnel uses the last address that is not in TRUSTED_PROXIES.',
          )
        : pass('The tunnel receives one address, and not the forged one.')
    })
    // The tunnels have warned of a hidden proxy only since the posts of the doctor.
    const statuses = finding.result === 'pass' ? await deployment.admin?.statuses() : undefined
    const warning = statuses
      ?.flatMap(({ warnings }) => warnings)
      .find((each) => each.includes('a proxy hides theirs'))
    return warning === undefined ? finding : warnWith(warning, PROXY_REMEDY)
  }),
}

const PROXY_REMEDY =
  'Add the network of the proxy that is in front of Culvert to TRUSTED_PROXIES. Ignore this if your visitors are on that network themselves.'

function isAboutProxies(warning: string): boolean {
  return /\bproxy\b/.test(warning)
}

const ADDRESS_PROBLEMS: Partial<Record<RequestFlag, string>> = {
  'address-made-up': `The tunnel believes ${SPOOFED_ADDRESS}, which the doctor forged.`,
  'address-missing':
    'The tunnel receives no address: Sentry sees the address of the tunnel for all visitors.',
  'peer-unknown':
    'The tunnel does not trust the proxy, and uses its address as that of all visitors: the address is neither in EDGE nor in TRUSTED_PROXIES.',
}

export const credentials: Check = {
  name: 'credentials',
  after: ['tunnel', 'error'],
  title: 'The proxy removes credentials of visitors',
  verifies: 'The tunnel never receives cookies or the Authorization header of your site.',
  remedy:
    'Clear both headers in the proxy (nginx: proxy_set_header Cookie ""; proxy_set_header Authorization "";).',
  run: withDsn(async (deployment, dsn) =>
    withSpoofedFlags(deployment, dsn, (flags) => {
      const received = flags.filter((flag) => flag === 'cookie' || flag === 'authorization')
      return received.length > 0
        ? fail(`The tunnel receives ${received.join(' and ')}.`)
        : pass('The tunnel receives neither.')
    }),
  ),
}

export const proxyHeaders: Check = {
  name: 'proxy-headers',
  after: ['tunnel', 'error'],
  title: 'Clients cannot set headers that the tunnel accepts from the proxy',
  verifies: 'The proxy removes or replaces X-Request-Id and X-Culvert-Retry of clients.',
  remedy:
    'Clear both headers in the proxy (nginx: proxy_set_header X-Request-Id $request_id; proxy_set_header X-Culvert-Retry "";).',
  run: withDsn(async (deployment, dsn) =>
    withSpoofedFlags(deployment, dsn, (flags, { headers }) => {
      const received = [
        ...(headers['x-request-id'] === SPOOFED_REQUEST_ID ? ['X-Request-Id'] : []),
        ...(flags.includes('retried') ? ['X-Culvert-Retry'] : []),
      ]
      return received.length > 0
        ? fail(`The tunnel accepts ${received.join(' and ')} of a client.`)
        : pass('The tunnel receives neither.')
    }),
  ),
}

/** Judges the flags that a tunnel put on the post with spoofed headers, which is made once for all checks, and the response. */
async function withSpoofedFlags(
  deployment: Deployment,
  dsn: string,
  judge: (flags: readonly RequestFlag[], response: HttpResponse) => Finding,
): Promise<Finding> {
  return withAdmin(async (admin, { posts, post, run }) => {
    const earlier = posts.find(({ label }) => label === SPOOFED_POST)?.response
    const options = { label: SPOOFED_POST, headers: SPOOFED_HEADERS }
    const response = earlier ?? (await post(reportEnvelope(dsn, run), options))
    const token = receiptToken(response)
    if (token === undefined) return NO_TOKEN
    const receipt = await admin.receipt(token)
    return receipt ? judge(receipt.flags ?? [], response) : NO_RECEIPT
  })(deployment)
}

export const delivery: Check = {
  name: 'delivery',
  after: ['tunnel', 'error'],
  title: 'Sentry has accepted the error and the replay',
  verifies: 'Sentry has accepted both, and the tunnel received every byte of them.',
  remedy:
    'Look for the receipt in the log of the tunnel. /status shows pending envelopes and the circuit breakers.',
  run: withDsn((deployment, dsn) =>
    withAdmin(async (admin, { posts }) => {
      const findings: Finding[] = []
      for (const { label, bytes, response } of posts) {
        if (label !== 'the error' && label !== 'the replay') continue
        const token = receiptToken(response)
        const finding =
          token === undefined ? NO_TOKEN : judgeReceipt(label, bytes, await admin.receipt(token))
        findings.push(finding)
      }
      const refusal = await findRefusal(admin, posts, dsn)
      if (refusal !== undefined) return describeRefusal(refusal, dsn)
      const [worst] = WORST_FIRST.flatMap((result) => findings.filter((each) => each.result === result))
      return worst ?? pass(findings.map(({ message }) => message).join(' '))
    })(deployment),
  ),
}

/** Returns the 4xx with which the server of the DSN has answered the doctor's posts, or others before them. */
async function findRefusal(
  admin: AdminClient,
  posts: readonly Post[],
  dsn: string,
): Promise<number | undefined> {
  const tokens = posts.flatMap(({ label, response }) =>
    label === 'the error' ? (receiptToken(response) ?? []) : [],
  )
  const receipts = (await Promise.all(tokens.map(admin.receipt))).flatMap((found) => found ?? [])
  const [receipt] = receipts
  if (!receipt || receipt.outcome === 'delivered') return undefined
  if (receipt.upstream_status !== undefined) return refusalOf(receipt.upstream_status)
  const origin = new URL(dsn).origin // the circuit breaker was open, so that the tunnel did not try
  const upstreams = (await admin.statuses()).flatMap((status) => status.upstreams)
  return upstreams
    .filter((upstream) => upstream.origin === origin && upstream.breaker.open)
    .map(({ last_error: error }) => refusalOf(error?.status ?? 0))
    .find((status) => status !== undefined)
}

const WORST_FIRST: readonly Result[] = ['fail', 'warn', 'unknown']

function judgeReceipt(label: string, bytes: number, receipt: Receipt | undefined): Finding {
  if (!receipt) return NO_RECEIPT
  if (receipt.bytes !== bytes)
    return fail(`The tunnel received ${receipt.bytes} bytes of ${label}, which had ${bytes}.`)
  if (receipt.outcome === 'spooled') return warn(`The tunnel has spooled ${label}.`)
  if (receipt.outcome !== 'delivered')
    return fail(
      `The outcome of ${label} is ${receipt.outcome} (${receipt.reason ?? receipt.upstream_status}).`,
    )
  return pass(
    receipt.upstream_status
      ? `Sentry responded with ${receipt.upstream_status} to ${label}.`
      : `The inbox has ${label}.`,
  )
}

export const replicas: Check = {
  name: 'replicas',
  after: ['tunnel', 'error'],
  title: 'Several replicas accept posts',
  verifies: 'A replica can fail or be replaced without loss.',
  remedy: 'Run at least two: docker compose up --scale tunnel=2.',
  run: withAdmin(async ({ statuses, receipt }, { posts }) => {
    const known = await statuses()
    const tokens = posts.flatMap(({ response }) => receiptToken(response) ?? [])
    const receipts = (await Promise.all(tokens.map(receipt))).flatMap((found) => found ?? [])
    const names = new Set([...known, ...receipts].map(({ replica }) => replica))
    const active = new Set(receipts.map(({ replica }) => replica))
    const others = tokens.length - receipts.length
    const message = `${active.size} of ${names.size} known replicas accepted ${receipts.length} posts${others > 0 ? `; unknown replicas accepted ${others}` : ''}.`
    return names.size > 1 || others > 0 ? pass(message) : warn(message)
  }),
}

export const tunnelState: Check = {
  name: 'tunnel-state',
  title: 'The tunnels report no problem',
  verifies:
    'No tunnel has warnings, an open circuit breaker or a project that its server refuses, and every spool is writable, not paused and without a damaged file.',
  remedy:
    'See docs/runbook.md: an open circuit breaker, a paused spool, a spool that cannot be written or was damaged.',
  run: withAdmin(async (admin, { dsn }) => {
    const statuses = await admin.statuses()
    if (statuses.length === 0) return unknown('No admin port was named.')
    const isProxyChecked = dsn !== undefined // by other checks, and now: the warnings are up to 20 minutes old
    for (const { replica, warnings, upstreams, spool } of statuses) {
      if (spool?.problem !== undefined)
        return fail(`The spool of ${replica} has a problem: ${spool.problem}.`)
      const [damaged] = spool?.damaged_files ?? []
      if (damaged !== undefined) return fail(`A damaged spool file was set aside as ${damaged}.`)
      if (spool?.durability?.startsWith('unproven'))
        return warn(`The durability of the spool of ${replica} is ${spool.durability}.`)
      if (spool?.paused?.length) return warn('Delivery of spooled envelopes is paused by an operator.')
      const refusals = upstreams.flatMap((upstream) => upstream.refusals ?? [])
      const refusal = refusals.find(({ is_decline, count }) => !is_decline || count >= MANY_DECLINES)
      if (refusal) return describeRefusedProject(refusal)
      const open = upstreams.find(({ breaker }) => breaker.open)
      if (open) return warn(`The circuit breaker of ${replica} for ${open.origin} is open.`)
      const warning = warnings.find((each) => !(isProxyChecked && isAboutProxies(each)))
      if (warning !== undefined) return warn(warning)
    }
    const meanings = new Set(statuses.flatMap(({ spool }) => spool?.durability ?? []))
    const durability = meanings.size > 0 ? `Stored envelopes are ${[...meanings].join(', and ')}. ` : ''
    return pass(`${statuses.length} replicas checked. ${durability}${describeCspReports(statuses)}`)
  }),
}

/** Sentry may decline a few envelopes for what is in them. */
const MANY_DECLINES = 3

function describeRefusedProject({ project, status, message, is_decline }: ProjectRefusal): Finding {
  const text = message === undefined ? '' : `: “${message}”`
  return warnWith(
    `The server of ${project} refuses its envelopes (HTTP ${status}${text}).`,
    is_decline
      ? 'Copy the DSN from the settings of the project again: its key is wrong, or the project was deleted. Declined envelopes are kept for a week. Send them again on the page Spool of the console, or with npm run store -- resend.'
      : 'Check that the project exists, its key in SENTRY_DSN, and the settings of the server and of the proxy in front of it: see docs/other-servers.md. Envelopes that are refused for an hour are declined.',
  )
}

function describeCspReports(statuses: readonly ReplicaStatus[]): string {
  const upstreams = statuses.flatMap((status) => status.upstreams)
  const origins = upstreams.flatMap(({ origin, csp_reports }) => (csp_reports === 'endpoint' ? origin : []))
  if (upstreams.length === 0) return 'CSP reports are stored in the inbox.'
  return origins.length === 0
    ? 'CSP reports are sent in envelopes.'
    : `CSP reports are sent to the endpoint /security/ of ${[...new Set(origins)].join(', ')}.`
}
