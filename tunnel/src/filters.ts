/** What an operator does not want reported: the three drops of Next.js, and inbound filters that can be switched on. */

import type { Envelope, Item } from './envelope.ts'
import { compileGlobs } from './glob.ts'
import { addDependants } from './items.ts'
import {
  BROWSER_EXTENSION_FRAME,
  BROWSER_EXTENSION_VALUE,
  HEALTH_CHECKS,
  isWebCrawler,
} from './known-noise.ts'

export type FilterSettings = {
  /** Not-found and incomplete transactions, and redirect signals, of Next.js. */
  nextNoise: boolean
  browserExtensions: boolean
  webCrawlers: boolean
  localhost: boolean
  healthChecks: boolean
  /** Globs, matched against an error's message and its `type: value`. */
  errorMessages: readonly string[]
  /** Globs, matched against the whole release. */
  releases: readonly string[]
}

/** Why an item was dropped: Relay's own filter keys (relay-filter/src/common.rs `FilterStatKey`), or ours for Next.js. */
export type FilterReason =
  | 'next-noise'
  | 'browser-extensions'
  | 'web-crawlers'
  | 'localhost'
  | 'filtered-transaction'
  | 'error-message'
  | 'release-version'

export type Filters = {
  /** Item types whose payload a filter may have to read; none when all are off. */
  reads: (type: string) => boolean
  /** The items to drop, dependants with them, and why; `undefined` when nothing is dropped. */
  sift(
    envelope: Envelope,
    userAgent: string | undefined,
  ): { dropped: Set<Item>; reason: FilterReason } | undefined
}

/** An event or a transaction as far as filters look into it; everything may be missing. */
type EventPayload = {
  transaction?: unknown
  release?: unknown
  message?: unknown
  logentry?: { formatted?: unknown; message?: unknown }
  exception?: {
    values?: {
      type?: unknown
      value?: unknown
      stacktrace?: { frames?: { abs_path?: unknown; filename?: unknown }[] }
    }[]
  }
  request?: { url?: unknown }
  user?: { ip_address?: unknown }
}

/** One filter: what bytes must be there for it to look closer, and what it then says. */
type Filter = {
  reason: FilterReason
  types: readonly ('event' | 'transaction')[]
  /** Tested against the payload, one character per byte. */
  hint: RegExp
  matches: (event: EventPayload) => boolean
}

const READ = new Set(['event', 'transaction'])

export function createFilters(settings: FilterSettings): Filters {
  const filters = chosenFilters(settings)
  const reads = filters.length > 0 ? (type: string) => READ.has(type) : () => false
  return { reads, sift }

  function sift({ items }: Envelope, userAgent: string | undefined) {
    const parent = items.find(({ type }) => READ.has(type))
    if (!parent) return undefined
    const reason = settings.webCrawlers && isWebCrawler(userAgent) ? 'web-crawlers' : judge(parent)
    if (!reason) return undefined
    const dropped = new Set([parent])
    addDependants(items, dropped)
    return { dropped, reason }
  }

  function judge(item: Item): FilterReason | undefined {
    if (filters.length === 0) return undefined
    const text = payloadText(item)
    const likely = filters.filter(
      ({ types, hint }) => types.some((type) => type === item.type) && hint.test(text),
    )
    if (likely.length === 0) return undefined
    const event = parseEvent(item)
    return event && likely.find(({ matches }) => matches(event))?.reason
  }
}

function chosenFilters(settings: FilterSettings): Filter[] {
  const messages = compileGlobs(settings.errorMessages)
  const releases = compileGlobs(settings.releases)
  return [
    ...(settings.nextNoise ? NEXT_NOISE : []),
    ...(releases ? [releaseFilter(releases)] : []),
    ...(messages ? [messageFilter(messages)] : []),
    ...(settings.localhost ? [LOCALHOST] : []),
    ...(settings.browserExtensions ? [EXTENSIONS] : []),
    ...(settings.healthChecks ? [HEALTH] : []),
  ]
}

// What the SDK drops in the browser, again for every SDK (PROTOCOL §8.1): only the payload can be seen here.
const NEXT_NOISE: Filter[] = [
  {
    reason: 'next-noise',
    types: ['transaction'],
    hint: /"(\/404|incomplete-app-router-transaction)"/,
    matches: ({ transaction }) =>
      transaction === '/404' || transaction === 'incomplete-app-router-transaction',
  },
  {
    reason: 'next-noise',
    types: ['event'],
    hint: /NEXT_REDIRECT/,
    matches: ({ exception }) => exception?.values?.[0]?.value === 'NEXT_REDIRECT',
  },
]

// relay-filter/src/localhost.rs
const LOCALHOST: Filter = {
  reason: 'localhost',
  types: ['event', 'transaction'],
  hint: /localhost|127\.0\.0\.1|::1|file:/,
  matches: ({ request, user }) => isLocalUrl(text(request?.url)) || isLocalAddress(text(user?.ip_address)),
}

// relay-filter/src/browser_extensions.rs: the first exception's value, or its last frame that has a place.
const EXTENSIONS: Filter = {
  reason: 'browser-extensions',
  types: ['event'],
  hint: new RegExp(
    `${BROWSER_EXTENSION_VALUE.source}|-extension:|woopra|${BROWSER_EXTENSION_FRAME.source.replaceAll('^', '')}`,
    'i',
  ),
  matches: ({ exception }) => {
    const [first] = exception?.values ?? []
    const frames = first?.stacktrace?.frames ?? []
    const last = frames.findLast(
      ({ abs_path }) => !['<anonymous>', '[native code]', ''].includes(text(abs_path)),
    )
    return (
      BROWSER_EXTENSION_VALUE.test(text(first?.value)) || BROWSER_EXTENSION_FRAME.test(text(last?.abs_path))
    )
  },
}

// relay-filter/src/transaction_name.rs with Sentry's globs for health checks
const HEALTH: Filter = {
  reason: 'filtered-transaction',
  types: ['transaction'],
  hint: /health|heartbeat|live|ready|ping/i,
  matches: ({ transaction }) => HEALTH_CHECKS.test(text(transaction)),
}

// relay-filter/src/error_messages.rs; transactions never match
function messageFilter(globs: RegExp): Filter {
  return {
    reason: 'error-message',
    types: ['event'],
    hint: /"(message|formatted|exception)"/,
    matches: ({ logentry, message, exception }) =>
      [
        text(logentry?.formatted) || text(logentry?.message) || text(message),
        ...(exception?.values ?? []).map(({ type, value }) =>
          [text(type), text(value)].filter(Boolean).join(': '),
        ),
      ].some((candidate) => candidate !== '' && globs.test(candidate)),
  }
}

// relay-filter/src/releases.rs
function releaseFilter(globs: RegExp): Filter {
  return {
    reason: 'release-version',
    types: ['event', 'transaction'],
    hint: /"release"/,
    matches: ({ release }) => text(release) !== '' && globs.test(text(release)),
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function isLocalUrl(url: string): boolean {
  if (url.startsWith('file:')) return true
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  return isLocalAddress(host) || host === 'localhost' || host.endsWith('.localhost')
}

function isLocalAddress(address: string): boolean {
  return address === '127.0.0.1' || address === '::1' || address === '[::1]'
}

function payloadText({ payload }: Item): string {
  return payload.length === 1
    ? (payload[0]?.toString('latin1') ?? '')
    : Buffer.concat(payload).toString('latin1')
}

/** A payload that is no JSON object is Sentry's affair, not ours. */
function parseEvent({ payload }: Item): EventPayload | undefined {
  try {
    const event = JSON.parse(Buffer.concat(payload).toString())
    return typeof event === 'object' && event !== null ? event : undefined
  } catch {
    return undefined
  }
}
