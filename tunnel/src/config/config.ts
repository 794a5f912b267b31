/** Settings of the tunnel, read once from the environment, or a refusal to start that lists every problem. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Dsn, INBOX_DSN, parseDsn, readDsns } from '../envelope/dsn.ts'
import { DEFAULT_HEADER_LIMITS, type HeaderLimits } from '../envelope/reader.ts'
import type { FilterSettings } from '../policy/filters.ts'
import { compileGlobs } from '../policy/glob.ts'
import type { ThrottleSettings } from '../policy/throttle.ts'
import { type NatsAddress, parseNatsCredentials, parseNatsUrl } from '../spool/jetstream/nats-url.ts'
import { LOG_LEVELS, type LogLevel } from '../telemetry/log.ts'
import type { ProxySettings, UpstreamSettings } from '../upstream/client.ts'
import { readAdminToken } from './admin-token.ts'
import {
  type Environment,
  readChoice,
  readInteger,
  readNetworks,
  readSecret,
  readSharedSettings,
  readSwitch,
  readWords,
  type SharedSettings,
  withoutLogin,
} from './settings.ts'

export type Config = SharedSettings & {
  /** Where browsers' posts are taken. */
  host: string
  port: number
  /** Where operators ask; a name stands for the address of this machine that it resolves to. */
  adminHost: string
  adminPort: number
  /** What `Authorization: Bearer` must hold on the admin port; `undefined` closes all that needs it. */
  adminToken: string | undefined
  /** The allow-list. In inbox mode the built-in DSN, which is never posted to. */
  dsns: Dsn[]
  /** Whether envelopes go on to Sentry, or only into the inbox. */
  forward: boolean
  /** The inbox's file, when there is an inbox. */
  inboxFile: string | undefined
  spool: SpoolSettings
  /** Peers whose `X-Forwarded-For` is believed. */
  edge: string[]
  /** Foreign origins that may post. */
  allowedOrigins: Set<string>
  filters: FilterSettings
  throttle: ThrottleSettings
  upstream: UpstreamSettings
  /** Of header lines, and items of one envelope. */
  headers: HeaderLimits
  items: number
  /** Bytes that all bodies in hand may hold in memory together; a folder on a disk takes what is beyond. */
  memoryBytes: number
  bodyDir: string
  /** Milliseconds that a body may take to arrive. */
  bodyMs: number
  logLevel: LogLevel
}

export type SpoolSettings = {
  /** A file of this machine, or a server that machines share. */
  place: { file: string } | { nats: NatsAddress }
  /**
   * The most that may wait, in bytes; `undefined` for 5 GiB or half of the free disk, whichever is smaller, and on NATS for what the stream
   * says, 5 GiB when it is made.
   */
  bytes: number | undefined
  /** Milliseconds that an envelope may wait. */
  ageMs: number
}

/** Thrown by `readConfig`; `problems` holds a line for each. */
export class BadSettings extends Error {
  readonly problems: string[]

  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

const DEFAULT_SPOOL = '.culvert/spool.db'
const MIB = 1024 * 1024
const PORTS: [number, number] = [1, 65535]
const RATES: [number, number] = [0, 1_000_000]
const MILLISECONDS: [number, number] = [10, 600_000]
const LOOPBACK = ['127.0.0.0/8', '::1']
const FILTERS = ['browser-extensions', 'web-crawlers', 'localhost', 'health-checks'] as const

/** Throws `BadSettings`. */
export function readConfig(env: Environment): Config {
  const problems: string[] = []
  const integer = (name: string, kind: string, byDefault: number, range: [number, number]) =>
    readInteger(env, name, kind, byDefault, range, problems)
  const dsns = readDsns(readSecret(env, 'SENTRY_DSN', problems), problems)
  const forward = dsns.length > 0
  const inboxed = readSwitch(env, 'INBOX', !forward, problems) || !forward
  const config: Config = {
    ...readSharedSettings(env, problems),
    host: env.HOST || '127.0.0.1',
    port: integer('PORT', 'port', 9090, PORTS),
    adminHost: env.ADMIN_HOST || env.HOST || '127.0.0.1',
    adminPort: integer('ADMIN_PORT', 'port', 9091, PORTS),
    adminToken: readAdminToken(env, problems),
    dsns: forward ? dsns : [inboxDsn()],
    forward,
    inboxFile: inboxed ? env.INBOX_FILE || '.culvert/inbox.db' : undefined,
    spool: {
      place: readSpoolPlace(readSecret(env, 'SPOOL_URL', problems), env.SPOOL_CREDENTIALS_FILE, problems),
      bytes: env.SPOOL_BYTES ? integer('SPOOL_BYTES', 'number of bytes', MIB, [MIB, MIB * MIB]) : undefined,
      ageMs: integer('SPOOL_HOURS', 'number of hours', 24, [1, 24 * 30]) * 60 * 60 * 1000,
    },
    edge: readNetworks(env, 'EDGE', LOOPBACK, problems),
    allowedOrigins: readOrigins(env.ALLOWED_ORIGINS, problems),
    filters: readFilters(env, problems),
    throttle: {
      addressRate: integer('ADDRESS_RATE', 'number of envelopes a second', 200, RATES),
      addressBurst: integer('ADDRESS_BURST', 'number of envelopes', 2_000, [1, 1_000_000]),
      addressBytes: integer('ADDRESS_BYTES', 'number of bytes a second', 20_000_000, [0, 1_000_000_000]),
      projectRate: integer('PROJECT_RATE', 'number of envelopes a second', 0, RATES),
      projectBurst: integer('PROJECT_BURST', 'number of envelopes', 10_000, [1, 1_000_000]),
    },
    upstream: {
      connectMs: integer('UPSTREAM_CONNECT_MS', 'number of milliseconds', 1_000, MILLISECONDS),
      answerMs: integer('UPSTREAM_ANSWER_MS', 'number of milliseconds', 10_000, MILLISECONDS),
      lateMs: integer('UPSTREAM_LATE_MS', 'number of milliseconds', 2_000, MILLISECONDS),
      connections: integer('UPSTREAM_CONNECTIONS', 'number of connections', 64, [1, 1_000]),
      proxies: readProxies(env, problems),
    },
    headers: {
      ...DEFAULT_HEADER_LIMITS,
      headerBytes: integer('HEADER_BYTES', 'number of bytes', DEFAULT_HEADER_LIMITS.headerBytes, [1024, MIB]),
      totalHeaderBytes: integer(
        'TOTAL_HEADER_BYTES',
        'number of bytes',
        DEFAULT_HEADER_LIMITS.totalHeaderBytes,
        [1024, 64 * MIB],
      ),
    },
    items: integer('MAX_ITEMS', 'number of items', 1_000, [1, 100_000]),
    memoryBytes: integer('MEMORY_BYTES', 'number of bytes', 64 * MIB, [MIB, 4096 * MIB]),
    bodyMs: integer('BODY_TIMEOUT_MS', 'number of milliseconds', 60_000, MILLISECONDS),
    bodyDir: env.BODY_DIR || '.culvert/bodies',
    logLevel: readChoice(env, 'LOG_LEVEL', LOG_LEVELS, 'info', problems),
  }
  if (clashes(config))
    problems.push(`ADMIN_PORT: "${config.adminPort}" is PORT already; write another one for the admin port`)
  if (problems.length > 0) throw new BadSettings(problems)
  return config
}

const EVERYWHERE = ['0.0.0.0', '::']

function clashes({ host, port, adminHost, adminPort }: Config): boolean {
  return (
    port === adminPort && (host === adminHost || [host, adminHost].some((each) => EVERYWHERE.includes(each)))
  )
}

function inboxDsn(): Dsn {
  const dsn = parseDsn(INBOX_DSN)
  if (!dsn) throw new Error('INBOX_DSN is no DSN')
  return dsn
}

function readSpoolPlace(
  given: string | undefined,
  credentialsFile: string | undefined,
  problems: string[],
): SpoolSettings['place'] {
  const url = given?.trim()
  if (!url) return { file: DEFAULT_SPOOL }
  if (/^file:\/\/\/[^?#]+$/.test(url)) return { file: fileURLToPath(url) }
  const nats = parseNatsUrl(url)
  if (nats) {
    const credentials = nats.credentials ?? readSpoolCredentials(credentialsFile, problems)
    return { nats: { ...nats, credentials } }
  }
  problems.push(
    `SPOOL_URL: "${url.replace(/[^/@]*@/g, '…@')}" is not a spool; write file:///spool/spool.db with the path of the file, or nats://user:password@host:4222, several hosts separated by commas (tls:// for TLS)`,
  )
  return { file: DEFAULT_SPOOL }
}

/** Reads the credentials that SPOOL_URL leaves out. A missing file means none: compose names it also where nothing has generated it. */
function readSpoolCredentials(file: string | undefined, problems: string[]): NatsAddress['credentials'] {
  if (!file) return undefined
  const problem = `SPOOL_CREDENTIALS_FILE: "${file}"`
  try {
    const credentials = parseNatsCredentials(readFileSync(file, 'utf8'))
    if (!credentials) problems.push(`${problem} does not hold credentials; write one line user:password`)
    return credentials
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      problems.push(`${problem} cannot be read; write the path of a file that this process may read`)
    return undefined
  }
}

function readOrigins(given: string | undefined, problems: string[]): Set<string> {
  const origins = (given ?? '').split(/[\s,]+/).filter(Boolean)
  for (const origin of origins)
    if (
      origin !== 'null' &&
      (/^http:.*:80$|^https:.*:443$/.test(origin) ||
        !/^https?:\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/.test(origin))
    )
      problems.push(
        `ALLOWED_ORIGINS: "${origin}" is not an origin; write https://other.example as browsers do, without a path and without the scheme's own port, several separated by spaces or commas`,
      )
  return new Set(origins)
}

function readFilters(env: Environment, problems: string[]): FilterSettings {
  const on = readWords(env, 'FILTERS', FILTERS, problems)
  return {
    nextNoise: readSwitch(env, 'DROP_NEXT_NOISE', true, problems),
    browserExtensions: on.includes('browser-extensions'),
    webCrawlers: on.includes('web-crawlers'),
    localhost: on.includes('localhost'),
    healthChecks: on.includes('health-checks'),
    errorMessages: readGlobs(env, 'FILTER_ERROR_MESSAGES', problems),
    releases: readGlobs(env, 'FILTER_RELEASES', problems),
  }
}

/** One glob a line, or separated by `|` (a message may hold spaces and commas). */
function readGlobs(env: Environment, name: string, problems: string[]): string[] {
  const globs = (env[name] ?? '')
    .split(/[\n|]/)
    .map((glob) => glob.trim())
    .filter(Boolean)
  for (const glob of globs)
    if (!compiles(glob)) problems.push(`${name}: "${glob}" is not a glob; write one like *ChunkLoadError*`)
  return globs
}

function compiles(glob: string): boolean {
  try {
    return compileGlobs([glob]) !== undefined
  } catch {
    return false
  }
}

/** The usual variables, in either case; `host:port` without a scheme is taken for http. */
function readProxies(env: Environment, problems: string[]): ProxySettings | undefined {
  const httpProxy = readProxy(env, 'HTTP_PROXY', problems)
  const httpsProxy = readProxy(env, 'HTTPS_PROXY', problems)
  if (!httpProxy && !httpsProxy) return undefined
  return { httpProxy, httpsProxy, noProxy: env.no_proxy ?? env.NO_PROXY }
}

function readProxy(env: Environment, name: string, problems: string[]): string | undefined {
  const given = (env[name.toLowerCase()] ?? env[name])?.trim()
  if (!given) return undefined
  const url = /^[^/]+:\d+$/.test(given) && !given.includes('://') ? `http://${given}` : given
  if (URL.canParse(url) && /^https?:\/\/[^/]+\/?$/i.test(url)) return url
  problems.push(`${name}: "${withoutLogin(given)}" is not a proxy; write it like http://proxy.example:3128`)
  return undefined
}
