/** What an operator does not want reported: the three drops of Next.js, and inbound filters that can be switched on. */

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

export type Filters = {
  /** Item types whose payload a filter may have to read; none when all are off. */
  reads: (type: string) => boolean
  /** The items to drop, dependants with them, and why; `undefined` when nothing is dropped. */
  filter(
    envelope: Envelope,
    userAgent: string | undefined,
  ): { dropped: Set<Item>; reason: FilterReason } | undefined
}

/** An event or a transaction as far as filters look into it. Each text is empty where it is missing. */
type EventPayload = {
  transaction: string
  release: string
  message: string
  url: string
  address: string
  exceptions: { type: string; value: string; places: string[] }[]
}

/** A payload to search: for bytes, or as a text with one character per byte. */
type Payload = { has: (bytes: Buffer) => boolean; matches: (pattern: RegExp) => boolean }

/** One filter: what bytes must be there for it to look closer, and what it then says. */
type Filter = {
  reason: FilterReason
  types: readonly ('event' | 'transaction')[]
  /** A cheap look for bytes without which it cannot match. */
  hint: (payload: Payload) => boolean
  matches: (event: EventPayload) => boolean
}

const READ = new Set(['event', 'transaction'])

/** Removes the items that a filter matches, and drops the payload, which no later stage needs. */
export function filterStage(filters: Filters): Stage {
  return function filter(ctx) {
    const filtered = filters.filter(ctx.envelope, ctx.incoming.headers['user-agent'])
    ctx.parser?.dropPayload()
    if (filtered) ctx.remove(filtered.dropped, filtered.reason)
    return undefined
  }
}

export function createFilters(settings: FilterSettings): Filters {
  const filters = chosenFilters(settings)
  const reads = filters.length > 0 ? (type: string) => READ.has(type) : () => false
  return { reads, filter }

  function filter({ items }: Envelope, userAgent: string | undefined) {
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
    const payload = openPayload(item)
    const likely = filters.filter(
      ({ types, hint }) => types.some((type) => type === item.type) && hint(payload),
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

const NOT_FOUND = Buffer.from('"/404"')
const INCOMPLETE = Buffer.from('"incomplete-app-router-transaction"')
const REDIRECT = Buffer.from('NEXT_REDIRECT')

// What the SDK drops in the browser, again for every SDK (PROTOCOL §8.1): only the payload can be seen here.
const NEXT_NOISE: Filter[] = [
  {
    reason: 'next-noise',
    types: ['transaction'],
    hint: ({ has }) => has(NOT_FOUND) || has(INCOMPLETE),
    matches: ({ transaction }) =>
      transaction === '/404' || transaction === 'incomplete-app-router-transaction',
  },
  {
    reason: 'next-noise',
    types: ['event'],
    hint: ({ has }) => has(REDIRECT),
    matches: ({ exceptions }) => exceptions[0]?.value === 'NEXT_REDIRECT',
  },
]

// relay-filter/src/localhost.rs
const LOCALHOST: Filter = {
  reason: 'localhost',
  types: ['event', 'transaction'],
  hint: ({ matches }) => matches(/localhost|127\.0\.0\.1|::1|file:/),
  matches: ({ url, address }) => isLocalUrl(url) || isLocalAddress(address),
}

const EXTENSION_HINT = new RegExp(
  `${BROWSER_EXTENSION_VALUE.source}|-extension:|woopra|${BROWSER_EXTENSION_FRAME.source.replaceAll('^', '')}`,
  'i',
)

// relay-filter/src/browser_extensions.rs: the first exception's value, or its last frame that has a place.
const EXTENSIONS: Filter = {
  reason: 'browser-extensions',
  types: ['event'],
  hint: ({ matches }) => matches(EXTENSION_HINT),
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
  hint: ({ matches }) => matches(/health|heartbeat|live|ready|ping/i),
  matches: ({ transaction }) => isHealthCheck(transaction),
}

// relay-filter/src/error_messages.rs; transactions never match
function messageFilter(globs: Matcher): Filter {
  return {
    reason: 'error-message',
    types: ['event'],
    hint: ({ matches }) => matches(/"(message|formatted|exception)"/),
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
    hint: ({ matches }) => matches(/"release"/),
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

function openPayload({ payload }: Item): Payload {
  const [only] = payload
  const bytes = payload.length === 1 && only ? only : Buffer.concat(payload)
  let text: string | undefined
  return {
    has: (needle) => bytes.includes(needle),
    matches: (pattern) => {
      text ??= bytes.toString('latin1')
      return pattern.test(text)
    },
  }
}

const MOST_VALUES = 50_000 // more than an honest event of 1 MiB has, and parsed within 50 ms

/** A payload that is no JSON object, or holds too much to be parsed while others wait, is Sentry's affair, not ours. */
function parseEvent({ payload }: Item): EventPayload | undefined {
  const bytes = Buffer.concat(payload)
  if (maxValues(bytes) > MOST_VALUES) return undefined
  try {
    return readEvent(object(JSON.parse(bytes.toString())))
  } catch {
    return undefined
  }
}

/** Any of it may be missing, or of another kind than it should be: anybody can send it. */
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
