/** Filters: items of Next.js that the SDK drops in the browser, and Sentry's inbound filters that can be switched on. */

import type { FilterReason } from '../contract.ts'
import { maxValues } from '../envelope/header-parser.ts'
import { addDependants, type Item } from '../envelope/items.ts'
import type { Envelope } from '../envelope/reader.ts'
import type { Stage } from '../pipeline.ts'
import {
  BROWSER_EXTENSION_FRAME,
  BROWSER_EXTENSION_VALUE,
  isHealthCheck,
  isWebCrawler,
} from './filter-rules.ts'
import { compileGlobs, type Matcher } from './glob.ts'

export type FilterSettings = {
  /** Not-found and incomplete transactions and redirect signals of Next.js. */
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

/** Fields of an event or a transaction that filters read. Missing texts are empty. */
type EventPayload = {
  transaction: string
  release: string
  message: string
  url: string
  address: string
  exceptions: { type: string; value: string; places: string[] }[]
}

type Filter = {
  reason: FilterReason
  types: readonly string[]
  /** Matches every payload that the filter may match, byte by byte. Others are not parsed. */
  hint: RegExp
  matches: (event: EventPayload) => boolean
}

const FILTERED_TYPES = new Set(['event', 'transaction'])

/** Removes the items that a filter matches. Drops the payload, which no later stage needs. */
export function filterStage(filters: Filters): Stage {
  return function filter(ctx) {
    const filtered = filters.filter(ctx.envelope, ctx.incoming.headers['user-agent'])
    ctx.parser?.dropPayload()
    if (filtered) ctx.remove(filtered.dropped, filtered.reason)
    return undefined
  }
}

export class Filters {
  /** Tells if a filter may have to read the payload of items of a type. */
  readonly reads: (type: string) => boolean
  readonly #filters: readonly Filter[]
  readonly #webCrawlers: boolean

  constructor(settings: FilterSettings) {
    this.#filters = chosenFilters(settings)
    this.#webCrawlers = settings.webCrawlers
    this.reads = this.#filters.length > 0 ? (type) => FILTERED_TYPES.has(type) : () => false
  }

  /** Returns the items to remove, dependants included, and the reason. */
  filter(
    { items }: Envelope,
    userAgent: string | undefined,
  ): { dropped: Set<Item>; reason: FilterReason } | undefined {
    const parent = items.find(({ type }) => FILTERED_TYPES.has(type))
    if (!parent) return undefined
    const reason = this.#webCrawlers && isWebCrawler(userAgent) ? 'web-crawlers' : this.#match(parent)
    if (!reason) return undefined
    const dropped = new Set([parent])
    addDependants(items, dropped)
    return { dropped, reason }
  }

  #match({ type, payload }: Item): FilterReason | undefined {
    const filters = this.#filters.filter(({ types }) => types.includes(type))
    if (filters.length === 0) return undefined
    const bytes = Buffer.concat(payload)
    const text = bytes.toString('latin1')
    const likely = filters.filter(({ hint }) => hint.test(text))
    const event = likely.length > 0 ? parseEvent(bytes) : undefined
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

// Errors and requests that @sentry/nextjs drops in the browser, here for every SDK.
const NEXT_NOISE: Filter[] = [
  {
    reason: 'next-noise',
    types: ['transaction'],
    hint: /"\/404"|"incomplete-app-router-transaction"/,
    matches: ({ transaction }) =>
      transaction === '/404' || transaction === 'incomplete-app-router-transaction',
  },
  {
    reason: 'next-noise',
    types: ['event'],
    hint: /NEXT_REDIRECT/,
    matches: ({ exceptions }) => exceptions[0]?.value === 'NEXT_REDIRECT',
  },
]

// relay-filter/src/localhost.rs
const LOCALHOST: Filter = {
  reason: 'localhost',
  types: ['event', 'transaction'],
  hint: /localhost|127\.0\.0\.1|::1|file:/,
  matches: ({ url, address }) => isLocalUrl(url) || isLocalAddress(address),
}

const EXTENSION_HINT = new RegExp(
  `${BROWSER_EXTENSION_VALUE.source}|-extension:|woopra|${BROWSER_EXTENSION_FRAME.source.replaceAll('^', '')}`,
  'i',
)

// relay-filter/src/browser_extensions.rs: the first exception's value, or its last frame with a path
const EXTENSIONS: Filter = {
  reason: 'browser-extensions',
  types: ['event'],
  hint: EXTENSION_HINT,
  matches: ({ exceptions: [first] }) => {
    const last =
      first?.places.findLast((place) => !['<anonymous>', '[native code]', ''].includes(place)) ?? ''
    return BROWSER_EXTENSION_VALUE.test(first?.value ?? '') || BROWSER_EXTENSION_FRAME.test(last)
  },
}

// relay-filter/src/transaction_name.rs with Sentry's globs for health checks
const HEALTH: Filter = {
  reason: 'filtered-transaction',
  types: ['transaction'],
  hint: /health|heartbeat|live|ready|ping/i,
  matches: ({ transaction }) => isHealthCheck(transaction),
}

// relay-filter/src/error_messages.rs; transactions never match
function messageFilter(globs: Matcher): Filter {
  return {
    reason: 'error-message',
    types: ['event'],
    hint: /"(message|formatted|exception)"/,
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
    types: ['event', 'transaction'],
    hint: /"release"/,
    matches: ({ release }) => release !== '' && globs(release),
  }
}

function isLocalUrl(url: string): boolean {
  if (url.startsWith('file:')) return true
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  return isLocalAddress(host) || host === 'localhost' || host.endsWith('.localhost')
}

function isLocalAddress(address: string): boolean {
  return address === '127.0.0.1' || address === '::1' || address === '[::1]'
}

const MAX_VALUES = 50_000 // more than an event of 1 MiB from an SDK has; parsed within 50 ms

/** Returns `undefined` for payloads that are no JSON object or take too long to parse; Sentry judges them. */
function parseEvent(bytes: Buffer): EventPayload | undefined {
  if (maxValues(bytes) > MAX_VALUES) return undefined
  try {
    return readEvent(object(JSON.parse(bytes.toString())))
  } catch {
    return undefined
  }
}

/** Reads fields of untrusted JSON: each may be missing or of any type. */
function readEvent(event: Json): EventPayload {
  const logentry = object(event.logentry)
  return {
    transaction: text(event.transaction),
    release: text(event.release),
    message: text(logentry.formatted) || text(logentry.message) || text(event.message),
    url: text(object(event.request).url),
    address: text(object(event.user).ip_address),
    exceptions: list(object(event.exception).values).map((exception) => ({
      type: text(exception.type),
      value: text(exception.value),
      // JavaScript SDKs write `filename` only; Relay takes it for `abs_path` before it filters.
      places: list(object(exception.stacktrace).frames).map(
        (frame) => text(frame.abs_path) || text(frame.filename),
      ),
    })),
  }
}

type Json = Readonly<Record<string, unknown>>

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(object) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
