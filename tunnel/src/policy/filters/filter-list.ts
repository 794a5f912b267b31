/** Filters that can be switched on. `docs/filters.md` compares them with Relay's. */

import { CSP_FILTERS, type CspFilterName, type FilterReason } from 'contract/admin-api'
import type { EnvelopeHeader } from '../../envelope/headers.ts'
import { isCspNoise } from './csp-noise.ts'
import {
  BROWSER_EXTENSION_FRAME,
  BROWSER_EXTENSION_VALUE,
  isHealthCheck,
  isWebCrawler,
  NEXT_NOISE_NAME,
  NEXT_SIGNAL,
} from './filter-rules.ts'
import type { Filterable } from './filterable.ts'
import { compileGlobs, type Matcher } from './glob.ts'
import { isLegacyBrowser } from './legacy-browsers.ts'

export type FilterSettings = {
  /** Not-found and incomplete transactions, and redirect signals, of Next.js. */
  nextNoise: boolean
  /** Names of `FILTERS` that are on. */
  on: ReadonlySet<string>
  /** Globs. */
  messages: readonly string[]
  releases: readonly string[]
  /** Client addresses and networks. */
  addresses: readonly string[]
}

export type Filter = {
  reason: FilterReason
  types: readonly string[]
  /** Matches every payload that the filter may match, byte by byte. Others are not parsed. */
  hint: RegExp
  /** Tells from the envelope's header if the filter may match at all; absent: it may. */
  appliesTo?: (header: EnvelopeHeader) => boolean
  matches: (item: Filterable) => boolean
}

/** Types that Relay filters (`Filterable` in relay-filter/src/interface.rs). */
export const FILTERABLE_TYPES: readonly string[] = [
  'event',
  'transaction',
  'feedback',
  'replay_event',
  'session',
  'sessions',
  'span',
  'log',
  'trace_metric',
  'profile_chunk',
]

/** Types of which Relay knows a URL or an address. */
const LOCATED_TYPES = ['event', 'transaction', 'feedback', 'replay_event', 'session', 'sessions', 'span']

export function chosenFilters({ nextNoise, on, messages, releases }: FilterSettings): Filter[] {
  const ofMessages = compileGlobs(messages)
  const ofReleases = compileGlobs(releases)
  return [
    ...(nextNoise ? NEXT_NOISE : []),
    ...(ofReleases ? [releaseFilter(ofReleases)] : []),
    ...(ofMessages ? [messageFilter(ofMessages)] : []),
    ...[LOCALHOST, EXTENSIONS, LEGACY_BROWSERS, CRAWLERS].filter(({ reason }) => on.has(reason)),
    ...(on.has('health-checks') ? [HEALTH] : []),
    ...CSP_FILTERS.filter((name) => on.has(`csp-${name}`)).map(cspFilter),
  ]
}

const TRACED_TYPES = ['transaction', 'span']

/** Names that `@sentry/nextjs` 11 gives to a streamed page load or navigation for which it finds no route. */
const FALLBACK_NAME = /^(Pageload|Navigation)$/
const NEXT_ORIGIN = /^auto\.(pageload|navigation)\.nextjs\./

// Events that @sentry/nextjs drops in the browser, here for every SDK, and spans that it cannot drop because it streams them.
const NEXT_NOISE: Filter[] = [
  {
    reason: 'next-noise',
    types: TRACED_TYPES,
    hint: /\/(404|_not-found)"|incomplete-app-router-transaction"/, // a pattern that begins with a quote takes five times as long
    matches: ({ transaction }) => NEXT_NOISE_NAME.test(transaction),
  },
  {
    reason: 'next-noise',
    types: TRACED_TYPES,
    hint: /"(Pageload|Navigation)"/,
    // If the server named the trace after a page, the page exists, and is only missing in the SDK's list of routes.
    appliesTo: ({ trace }) => typeof trace?.transaction !== 'string',
    matches: ({ transaction, origin }) => FALLBACK_NAME.test(transaction) && NEXT_ORIGIN.test(origin),
  },
  {
    reason: 'next-noise',
    types: TRACED_TYPES,
    hint: /"pageload"/,
    // The browser continues the trace of the document: the server has named it after the not-found page.
    appliesTo: ({ trace }) => NEXT_NOISE_NAME.test(String(trace?.transaction)),
    matches: ({ op }) => op === 'pageload',
  },
  {
    reason: 'next-noise',
    types: ['event'],
    hint: /NEXT_(REDIRECT|NOT_FOUND|HTTP_ERROR_FALLBACK)/,
    matches: ({ exceptions }) => NEXT_SIGNAL.test(exceptions[0]?.value ?? ''),
  },
]

// relay-filter/src/localhost.rs
const LOCALHOST: Filter = {
  reason: 'localhost',
  types: LOCATED_TYPES,
  hint: /url|address|host/i, // 127.0.0.1 has many spellings
  matches: ({ url, address, hosts }) =>
    isLocalUrl(url) || address === '127.0.0.1' || address === '::1' || hosts.some(isLocalHostHeader),
}

const EXTENSION_HINT = new RegExp(
  `${BROWSER_EXTENSION_VALUE.source}|-extension:|woopra|${BROWSER_EXTENSION_FRAME.source.replaceAll('^', '')}`,
  'i',
)

// relay-filter/src/browser_extensions.rs: the first exception's value, or its last frame that is not anonymous
const EXTENSIONS: Filter = {
  reason: 'browser-extensions',
  types: ['event'],
  hint: EXTENSION_HINT,
  matches: ({ exceptions: [first] }) => {
    const last = first?.places.findLast((place) => !['<anonymous>', '[native code]'].includes(place)) ?? ''
    return BROWSER_EXTENSION_VALUE.test(first?.value ?? '') || BROWSER_EXTENSION_FRAME.test(last)
  },
}

// relay-filter/src/web_crawlers.rs
const CRAWLERS: Filter = {
  reason: 'web-crawlers',
  types: FILTERABLE_TYPES.filter((type) => type !== 'profile_chunk'), // names no user agent
  hint: /user[-_]agent|browser\.name/i,
  matches: ({ userAgent }) => isWebCrawler(userAgent),
}

// relay-filter/src/legacy_browsers.rs
const LEGACY_BROWSERS: Filter = {
  ...CRAWLERS,
  reason: 'legacy-browsers',
  matches: ({ userAgent, browserVersion }) => isLegacyBrowser(userAgent, browserVersion),
}

// relay-filter/src/transaction_name.rs with Sentry's globs for health checks
const HEALTH: Filter = {
  reason: 'filtered-transaction',
  types: TRACED_TYPES,
  hint: /health|heartbeat|live|ready|ping/i,
  matches: ({ transaction }) => isHealthCheck(transaction),
}

// relay-filter/src/error_messages.rs; transactions never match
function messageFilter(globs: Matcher): Filter {
  return {
    reason: 'error-message',
    types: ['event', 'feedback'],
    hint: /message|logentry|exception/i,
    matches: ({ message, exceptions }) =>
      [message, ...exceptions.map(({ type, value }) => [type, value].filter(Boolean).join(': '))].some(
        (candidate) => candidate !== '' && globs(candidate),
      ),
  }
}

// relay-filter/src/releases.rs
function releaseFilter(globs: Matcher): Filter {
  return {
    reason: 'release-version',
    types: FILTERABLE_TYPES,
    hint: /release"/,
    matches: ({ release }) => release !== '' && globs(release),
  }
}

// relay-filter/src/csp.rs
function cspFilter(name: CspFilterName): Filter {
  return {
    reason: `csp-${name}`,
    types: ['raw_security'],
    hint: /csp/,
    matches: ({ cspSources }) => cspSources.some((source) => isCspNoise(name, source)),
  }
}

/** Relay compares the host as the URL parser writes it, so that `http://[::1]` is kept. */
function isLocalUrl(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? {}
  return protocol === 'file:' || /^(.*\.)?(localhost|127\.0\.0\.1)$/.test(hostname ?? '')
}

function isLocalHostHeader(header: string): boolean {
  const [host] = header.split(':')
  return host === 'localhost' || host === '127.0.0.1'
}
