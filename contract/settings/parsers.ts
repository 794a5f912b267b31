/** Parsers of settings, one for each kind of value. */

import { isIP } from 'node:net'
import { fileURLToPath } from 'node:url'
import { CSP_FILTERS } from '../admin-api.ts'
import { type Dsn, formatDsn, readDsns } from '../dsn.ts'
import { formatMirror, type Mirror, readMirrors } from '../mirrors.ts'
import { describeNats, type NatsAddress, parseNatsUrl } from '../nats-url.ts'
import { isOriginEntry } from '../origins.ts'
import { passwordProblem } from '../password.ts'
import type { PolicyMode } from '../policies.ts'
import { REPORT_TYPES } from '../report-types.ts'

export type Kind<T> = {
  /**
   * Parses a value that is not empty. Appends each problem as `NAME: "value" problem; remedy`; `undefined` stands for the default.
   */
  parse(text: string, name: string, problems: string[]): T | undefined
  /** Formats a value as an operator writes it, without secrets. */
  format?(value: T): string
  unit?: string
  /** Largest accepted number. */
  max?: number
  /** Accepted values, in Markdown. */
  values?: string
}

export type SpoolPlace = { file: string } | { nats: NatsAddress }

const FORMAT_LIST = { format: (values: readonly string[]) => values.join(' ') }

/** Segments may have dots, but `.` and `..` are none: browsers resolve them. */
const TUNNEL_PATH = /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9_.~-]+)+$/

/** Paths that web serves. */
const WEB_PATH = /^\/(_next|console|healthz|lab)(\/|$)/

export const text: Kind<string> = { parse: (given) => given }

/** The problem does not repeat the password: problems are logged. */
export const password: Kind<string> = {
  parse(given, name, problems) {
    const problem = passwordProblem(given)
    if (problem) problems.push(`${name}: it ${problem}`)
    return given
  },
}

export const onOff: Kind<boolean> = {
  values: '`on`, `off`',
  format: (value) => (value ? 'on' : 'off'),
  parse(given, name, problems) {
    if (given !== 'on' && given !== 'off')
      problems.push(`${name}: "${given}" is neither on nor off; write one of the two`)
    return given === 'on'
  },
}

/** Whole numbers within `[min, max]`. The rejection names the kind: "port", "number of bytes". */
export function integer(kind: string, min: number, max: number): Kind<number> {
  return {
    values: `${min} to ${max}`,
    unit: kind.replace(/^number of /, ''),
    max,
    parse(given, name, problems) {
      const value = Number(given)
      if (/^(0|[1-9]\d{0,15})$/.test(given) && value >= min && value <= max) return value
      problems.push(`${name}: "${given}" is not a ${kind}; write a whole number from ${min} to ${max}`)
      return undefined
    },
  }
}

/** Port, after a host and a colon where it has one of its own. */
export const adminPort: Kind<{ host: string | undefined; port: number }> = {
  values: '0 to 65535, or `host:port`',
  format: ({ host, port }) =>
    host?.includes(':') ? `[${host}]:${port}` : [host ?? [], port].flat().join(':'),
  parse(given, name, problems) {
    const [, host, digits = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(given) ?? []
    const port = integer('port', 0, 65_535).parse(digits, name, [])
    if (port !== undefined) return { host: host?.replace(/^\[(.+)\]$/, '$1'), port }
    problems.push(`${name}: "${given}" is not a port; write a whole number from 0 to 65535, or host:port`)
    return undefined
  },
}

/** Numbers of at most three decimals within `[min, max]`. */
export function decimal(kind: string, min: number, max: number): Kind<number> {
  return {
    values: `${min} to ${max}`,
    unit: kind.replace(/^number of /, ''),
    max,
    parse(given, name, problems) {
      const value = Number(given)
      if (/^(0|[1-9]\d{0,9})(\.\d{1,3})?$/.test(given) && value >= min && value <= max) return value
      problems.push(`${name}: "${given}" is not a ${kind}; write a number from ${min} to ${max}, like 2.5`)
      return undefined
    },
  }
}

/** Share from 0 to 1. */
export const share: Kind<number> = {
  values: '0 to 1',
  parse(given, name, problems) {
    if (/^(0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(given)) return Number(given)
    problems.push(`${name}: "${given}" is not a share; write a number from 0 to 1, like 0.2`)
    return undefined
  },
}

/** One of a closed set of words. */
export function oneOf<Word extends string>(...known: Word[]): Kind<Word> {
  return {
    values: known.map((word) => `\`${word}\``).join(', '),
    parse(given, name, problems) {
      const match = known.find((candidate) => candidate === given)
      if (!match) problems.push(`${name}: "${given}" is not known; write one of ${known.join(', ')}`)
      return match
    },
  }
}

/** Text that passes a check. `remedy` names the problem and the remedy. */
export function textWhere(isValid: (given: string) => boolean, remedy: string): Kind<string> {
  return {
    parse(given, name, problems) {
      if (isValid(given)) return given
      problems.push(`${name}: "${given}" ${remedy}`)
      return undefined
    },
  }
}

/** List of words, each of which matches. */
export function listOf(isValid: (word: string) => boolean, remedy: string): Kind<string[]> {
  return {
    ...FORMAT_LIST,
    parse(given, name, problems) {
      const words = splitList(given)
      for (const word of words) if (!isValid(word)) problems.push(`${name}: "${word}" ${remedy}`)
      return words
    },
  }
}

export const networks = listOf(
  isNetwork,
  'is not a network; write addresses or CIDRs like 10.0.0.0/8, separated by commas or spaces',
)

/** Hosts with a port. */
export function authorities(example: string): Kind<string[]> {
  return listOf(
    (authority) => /^([\w.-]+|\[[\da-f:]+\]):\d{1,5}$/i.test(authority),
    `is not a host with a port; write one like ${example}, several separated by commas or spaces`,
  )
}

/** Host names without a port, and wildcards for subdomains. */
export const hosts = listOf(
  (host) => /^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(host),
  'is not a host name; write shop.example without a scheme and port, or *.shop.example for its subdomains, several separated by spaces or commas',
)

/** Origins as browsers write them, also of packaged apps and extensions, and wildcards for subdomains. */
export const origins = listOf(
  isOriginEntry,
  "is not an origin; write https://other.example as browsers do, without a path and without the scheme's own port, https://*.other.example for its subdomains, or capacitor://localhost for an app, several separated by spaces or commas",
)

export const dsns: Kind<Dsn[]> = {
  parse: (given, _, problems) => readDsns(given, problems),
  format: (value) => value.map(formatDsn).join(' '),
}

export const mirrors: Kind<Mirror[]> = {
  parse: (given, _, problems) => readMirrors(given, problems),
  format: (value) => value.map(formatMirror).join(' '),
}

/** Address of an app, over plain HTTP. The value is `host:port`. */
export const appUrl: Kind<string> = {
  format: (authority) => `http://${authority}`,
  parse(given, name, problems) {
    const [, host, port = '80'] = /^http:\/\/([\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?\/?$/i.exec(given) ?? []
    if (host && Number(port) > 0 && Number(port) < 65_536) return `${host}:${port}`
    const problem = /^https:/i.test(given)
      ? 'is an HTTPS address; nginx connects to the app over plain HTTP, so write its HTTP address'
      : 'is not the address of an app; write its scheme, host and port without a path'
    problems.push(`${name}: "${withoutLogin(given)}" ${problem}, like http://127.0.0.1:5173`)
    return undefined
  },
}

/** Paths that accept envelopes: the one for new pages first, with a leading slash and no trailing one. */
export const tunnelPaths: Kind<string[]> = {
  format: (paths) => paths.join('|'),
  parse(given, name, problems) {
    const paths = given.split('|')
    for (const path of paths) {
      if (!TUNNEL_PATH.test(path))
        problems.push(
          `${name}: "${path}" is not a path; write one like /monitoring (letters, digits, -, _, . and ~ between slashes), several separated by |`,
        )
      else if (WEB_PATH.test(path))
        problems.push(
          `${name}: "${path}" is served by the web app; choose one outside /_next, /console, /healthz and /lab`,
        )
    }
    return [...new Set(paths)]
  },
}

/** Values one per line, or separated by `|`: they may hold spaces and commas. */
export const lines: Kind<string[]> = {
  format: (values) => values.join('|'),
  parse: (given) =>
    given
      .split(/[\n|]/)
      .map((value) => value.trim())
      .filter(Boolean),
}

/** Words of `FILTERS`. */
export const FILTER_NAMES: readonly string[] = [
  ...['browser-extensions', 'web-crawlers', 'legacy-browsers', 'localhost', 'health-checks'],
  ...CSP_FILTERS.map((name) => `csp-${name}`),
  ...REPORT_TYPES.map((type) => `report-${type}`),
]

export const DEFAULT_FILTERS: ReadonlySet<string> = new Set(
  FILTER_NAMES.filter((name) => /^csp-(?!localhost)/.test(name)),
)

/** Names of the filters that are on. A word adds one; with a hyphen, it removes one that is on by default. */
export const filters: Kind<ReadonlySet<string>> = {
  values: FILTER_NAMES.map((name) => `\`${name}\`${DEFAULT_FILTERS.has(name) ? ' (on)' : ''}`).join(', '),
  format: (on) =>
    [
      ...[...on].filter((name) => !DEFAULT_FILTERS.has(name)),
      ...[...DEFAULT_FILTERS].filter((name) => !on.has(name)).map((name) => `-${name}`),
    ].join(' '),
  parse(given, name, problems) {
    const on = new Set(DEFAULT_FILTERS)
    for (const word of splitList(given)) {
      const filter = word.replace(/^-/, '')
      if (!FILTER_NAMES.includes(filter))
        problems.push(`${name}: "${word}" is not known; write some of ${FILTER_NAMES.join(', ')}`)
      else if (word.startsWith('-')) on.delete(filter)
      else on.add(filter)
    }
    return on
  },
}

export type ScrubChoice = {
  level: 'off' | 'default' | 'strict'
  mode: PolicyMode
  attachments: 'pass' | 'drop'
  users: 'remove' | 'pseudonym'
}

export const NO_SCRUBBING: ScrubChoice = {
  level: 'off',
  mode: 'enforce',
  attachments: 'pass',
  users: 'remove',
}

export const scrub: Kind<ScrubChoice> = {
  values: '`off`, `default`, `strict`; after it `observe`, `drop-attachments`, `pseudonyms`',
  format: ({ level, mode, attachments, users }) =>
    [
      level,
      ...(mode === 'observe' ? ['observe'] : []),
      ...(attachments === 'drop' ? ['drop-attachments'] : []),
      ...(users === 'pseudonym' ? ['pseudonyms'] : []),
    ].join(' '),
  parse(given, name, problems) {
    const [level = '', ...words] = splitList(given)
    const wrong = words.find((word) => !['observe', 'drop-attachments', 'pseudonyms'].includes(word))
    if ((level === 'off' && words.length === 0) || (/^(default|strict)$/.test(level) && wrong === undefined))
      return {
        level: level as ScrubChoice['level'],
        mode: words.includes('observe') ? 'observe' : 'enforce',
        attachments: words.includes('drop-attachments') ? 'drop' : 'pass',
        users: words.includes('pseudonyms') ? 'pseudonym' : 'remove',
      }
    problems.push(
      `${name}: "${given}" is not known; write off, or default or strict, followed by some of observe, drop-attachments, pseudonyms`,
    )
    return undefined
  },
}

export type StormLimit = { limit: number; mode: PolicyMode }

export const DEFAULT_STORM_LIMIT: StormLimit = { limit: 100, mode: 'observe' }

/** Number of identical errors a minute, and the word `enforce` or `observe`. */
export const stormLimit: Kind<StormLimit> = {
  values: '0 to 1000000; after it `enforce`',
  format: ({ limit, mode }) => `${limit} ${mode}`,
  parse(given, name, problems) {
    const [number = '', mode = 'observe', ...more] = splitList(given)
    const limit = integer('number', 0, 1_000_000).parse(number, name, [])
    if (limit !== undefined && (mode === 'observe' || mode === 'enforce') && more.length === 0)
      return { limit, mode }
    problems.push(
      `${name}: "${given}" is not a number of identical errors a minute; write a whole number from 0 to 1000000, followed by enforce or observe`,
    )
    return undefined
  },
}

/** Proxy on the way to Sentry; `host:port` without a scheme means http. */
export const proxy: Kind<string> = {
  format: withoutLogin,
  parse(given, name, problems) {
    const url = /^[^/]+:\d+$/.test(given) && !given.includes('://') ? `http://${given}` : given
    if (URL.canParse(url) && /^https?:\/\/[^/]+\/?$/i.test(url)) return url
    problems.push(`${name}: "${withoutLogin(given)}" is not a proxy; write it like http://proxy.example:3128`)
    return undefined
  },
}

export const spoolPlace: Kind<SpoolPlace> = {
  format: (place) => ('nats' in place ? describeNats(place.nats) : place.file),
  parse(given, name, problems) {
    const url = given.trim()
    if (!url) return undefined
    if (/^file:\/\/\/[^?#]+$/.test(url)) return { file: fileURLToPath(url) }
    const nats = parseNatsUrl(url)
    if (nats) return { nats }
    problems.push(
      `${name}: "${url.replace(/[^/@]*@/g, '…@')}" is not a spool; write file:///spool/spool.db with the path of the file, or nats://user:password@host:4222, several hosts separated by commas (tls:// for TLS)`,
    )
    return undefined
  },
}

function splitList(given: string): string[] {
  return given.split(/[\s,]+/).filter(Boolean)
}

function isNetwork(word: string): boolean {
  const [address = '', bits, ...rest] = word.split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || rest.length > 0) return false
  return bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

/** Removes everything up to the last `@`: a password may hold characters that it should not. */
function withoutLogin(url: string): string {
  return url.replace(/^([a-z]+:\/\/)?.*@/is, '$1…@')
}
