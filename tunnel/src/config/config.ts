/** Settings of the tunnel, read once from the environment. */

import { readAdminToken } from 'contract/admin-token'
import { INBOX } from 'contract/dsn'
import { findWrongMirrors } from 'contract/mirrors'
import { parseNatsCredentials } from 'contract/nats-url'
import { AllowedOrigins } from 'contract/origins'
import { findOwnDsns } from 'contract/own-dsns'
import { BURST_SECONDS } from 'contract/rate-limits'
import { REPORT_TYPES, type ReportSettings } from 'contract/report-types'
import type { Environment } from 'contract/settings'
import { LOOPBACK } from 'contract/settings/processes'
import { SHARED } from 'contract/settings/shared-settings'
import { readSharedSettings, SettingsReader } from 'contract/settings-reader'
import type { Deployment } from 'contract/situation/deployments'
import { DEFAULT_KEPT_BYTES } from '../envelope/reader.ts'
import type { ProxySettings } from '../forward/upstream/upstream-client.ts'
import type { Keeping } from '../pipeline/spool.ts'
import type { FilterSettings } from '../policy/filters/filter-list.ts'
import { compileGlobs } from '../policy/filters/glob.ts'
import type { ThrottleSettings } from '../policy/throttle.ts'
import type { SdkSettings } from '../sdk/sdk.ts'
import type { SpoolSettings } from '../store/open-store.ts'
import { readQuota, readScrub } from './policy-settings.ts'

/** Settings as the code uses them, with their comments in `readConfig`. */
export type Config = ReturnType<typeof readConfig>

/** Error with one line for each wrong setting. */
export class BadSettings extends Error {
  readonly problems: string[]

  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

const HOUR_MS = 60 * 60 * 1000
const CONNECT_MS = 1000
const MIN_ANSWER_MS = 10_000
/** Milliseconds until the whole body of a request has to arrive. */
const BODY_MS = 60_000
/** Sockets to one upstream. */
const MAX_CONNECTIONS = 64

/** Reads all settings. Throws `BadSettings` with every problem. */
export function readConfig(env: Environment) {
  const settings = new SettingsReader(env, [])
  const dsns = settings.read('SENTRY_DSN')
  const forward = dsns.length > 0
  const mirrors = settings.read('MIRROR_DSN')
  const host = settings.read('HOST')
  const shared = readSharedSettings(settings)
  const upstreamEncoding = settings.read('UPSTREAM_ENCODING')
  const filters = readFilters(settings)
  const spool = readSpool(settings)
  const config = {
    ...shared,
    /** Public port, for browsers. */
    host,
    port: settings.read('PORT'),
    ...readAdmin(settings, host),
    /** Token of the admin port; `undefined` closes everything that needs it. */
    adminToken: readAdminToken(settings),
    /** DSNs of the accepted projects. In inbox mode the built-in DSN, without an upstream. */
    dsns: forward ? dsns : [INBOX],
    /** Second destinations of the envelopes of some projects. */
    mirrors,
    /** `false` in inbox mode. */
    forward,
    /** Accepted envelopes that stay in the spool; absent: none. */
    keep: readKeep(settings, forward, spool),
    spool,
    /** Envelopes a second from the spool to one upstream at most. */
    spoolRate: settings.read('SPOOL_RATE'),
    /** Networks of the peers whose `X-Forwarded-For` is trusted. */
    edge: settings.read('EDGE', [...LOOPBACK, ...shared.trustedProxies]),
    ...readAllowed(settings),
    /** Settings of the SDK that browsers get from the tunnel. */
    sdk: readSdkSettings(settings, forward),
    browserReports: readReportSettings(settings, filters),
    filters,
    /** Absent: payloads are forwarded unmodified. */
    scrub: readScrub(settings),
    clientAddress: settings.read('CLIENT_ADDRESS'),
    storm: settings.read('STORM_LIMIT'),
    quota: readQuota(settings, dsns),
    throttle: throttleOf(settings.read('ADDRESS_RATE')),
    upstream: readUpstream(settings, forward),
    /** Encoding of bodies for Sentry that have arrived uncompressed. */
    upstreamEncoding: forward ? upstreamEncoding : 'off',
    alerts: { targets: settings.read('ALERT_URL'), heartbeat: settings.read('HEARTBEAT_URL') },
    /** Time without a report that is a problem; 0 for none. */
    silenceMs: settings.read('SILENCE_MINUTES') * 60_000,
    /** Additional certificate authorities. */
    caFile: settings.read('CA_FILE'),
    ...itemSizesFor(shared.maxEnvelopeBytes),
    /** Memory for all request bodies. Larger ones are written to `bodyDir`. */
    memoryBytes: settings.read('MEMORY_BYTES'),
    bodyDir: settings.read('BODY_DIR'),
    bodyMs: BODY_MS,
    logLevel: settings.read('LOG_LEVEL'),
    /** Revision of the sources that the image was built from, which names it. */
    revision: env.REVISION || 'unknown',
    deployment: deploymentOf(env),
    /** Settings in force, without secrets. */
    shown: settings.shown,
    /** Settings that were read from the file that `NAME_FILE` names. */
    fromFile: settings.fromFile,
  }
  const { problems } = settings
  const targets = mirrors.map(({ target }) => target)
  problems.push(
    ...findOwnDsns(dsns, listenersOf(config)),
    ...findOwnDsns(targets, listenersOf(config), 'MIRROR_DSN'),
    ...findWrongMirrors(mirrors, dsns),
  )
  if (clashes(config))
    problems.push(`ADMIN_PORT: "${config.adminPort}" is PORT already; write another one for the admin port`)
  if (problems.length > 0) throw new BadSettings(problems)
  return config
}

/** Bytes that an envelope may have on average, for the limit of a client address. */
const MEAN_BYTES = 100_000

/** A client address may send the envelopes of ten seconds at once. */
function throttleOf(addressRate: number): ThrottleSettings {
  return { addressRate, addressBurst: addressRate * BURST_SECONDS, addressBytes: addressRate * MEAN_BYTES }
}

function listenersOf({ host, port, adminHost, adminPort }: Config): string[] {
  const listeners: [string, number][] = [
    [host, port],
    [adminHost, adminPort],
  ]
  return listeners.flatMap(([name, number]) => {
    const shown = EVERYWHERE.includes(name) ? '' : name.includes(':') ? `[${name}]:` : `${name}:`
    return number === 0 ? [] : `${shown}${number}`
  })
}

const EVERYWHERE = ['0.0.0.0', '::']

function clashes({ host, port, adminHost, adminPort }: Config): boolean {
  return (
    port !== 0 &&
    port === adminPort &&
    (host === adminHost || [host, adminHost].some((each) => EVERYWHERE.includes(each)))
  )
}

const DEFAULT_KEEP_HOURS = 7 * 24 // without a DSN
/** Space for kept envelopes: a twentieth of the spool's, and at least a twentieth of the spool's default. */
const KEEP_DIVISOR = 20
const MIN_KEEP_BYTES = 256 * 1024 * 1024

/** Without a DSN, the spool is the destination of all envelopes, and a person reads them there. */
function readKeep(settings: SettingsReader, forward: boolean, spool: SpoolSettings) {
  const hours = settings.read('KEEP_HOURS') ?? (forward ? 0 : DEFAULT_KEEP_HOURS)
  settings.shown.KEEP_HOURS = String(hours)
  if (hours === 0 && !forward)
    settings.problems.push(
      'KEEP_HOURS: 0 keeps nothing, but without SENTRY_DSN the inbox is where envelopes go; write 1 to 720, or set SENTRY_DSN',
    )
  const keeping: Keeping = forward ? 'errors' : 'all'
  return hours > 0
    ? {
        keeping,
        bytes: Math.max(MIN_KEEP_BYTES, Math.floor((spool.bytes ?? 0) / KEEP_DIVISOR)),
        ageMs: hours * HOUR_MS,
      }
    : undefined
}

/** Largest part of an envelope that filters and scrubbing may read. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024

/** A larger limit for envelopes than the default is for a server that also accepts larger items. It rejects those that it does not accept. */
function itemSizesFor(maxEnvelopeBytes: number) {
  const raised = maxEnvelopeBytes > SHARED.MAX_ENVELOPE_BYTES.default ? maxEnvelopeBytes : undefined
  return {
    itemSizes: { eventBytes: raised, itemBytes: raised },
    keptBytes: raised ? MAX_KEPT_BYTES : DEFAULT_KEPT_BYTES,
  }
}

/** Reads the address of the admin port. A name means the address of this machine that it resolves to. */
function readAdmin(settings: SettingsReader, host: string) {
  const { host: adminHost = host, port: adminPort } = settings.read('ADMIN_PORT')
  return { adminHost, adminPort }
}

function readAllowed(settings: SettingsReader) {
  return {
    /** Names that `Host` may have; empty for any. */
    allowedHosts: settings.read('ALLOWED_HOSTS'),
    /** Other origins that may post. */
    allowedOrigins: new AllowedOrigins(settings.read('ALLOWED_ORIGINS')),
  }
}

function readUpstream(settings: SettingsReader, forward: boolean) {
  const lateMs = settings.read('UPSTREAM_LATE_MS')
  const cspReports = settings.read('CSP_REPORTS')
  return {
    connectMs: Math.max(CONNECT_MS, lateMs / 2),
    connections: MAX_CONNECTIONS,
    answerMs: Math.max(MIN_ANSWER_MS, 5 * lateMs),
    lateMs,
    cspReports: forward ? cspReports : ('envelope' as const),
    proxies: readProxies(settings),
  }
}

function readSpool(settings: SettingsReader): SpoolSettings {
  const place = settings.read('SPOOL_URL')
  const given = settings.read('SPOOL_CREDENTIALS')
  const credentials = given === undefined ? undefined : parseNatsCredentials(given)
  if (given !== undefined && !credentials)
    settings.problems.push('SPOOL_CREDENTIALS: these are no credentials; write one line user:password')
  const bytes = settings.read('SPOOL_BYTES')
  if (bytes === undefined)
    settings.shown.SPOOL_BYTES =
      'nats' in place ? 'as its stream has it, 5 GiB for a new one' : '5 GiB or half of the free disk'
  return {
    place:
      'nats' in place
        ? { nats: { ...place.nats, credentials: place.nats.credentials ?? credentials } }
        : place,
    bytes,
    ageMs: settings.read('SPOOL_HOURS') * HOUR_MS,
  }
}

function readSdkSettings(settings: SettingsReader, forward: boolean): SdkSettings {
  const release = settings.read('SENTRY_RELEASE')
  const tracesSampleRate = settings.read('SENTRY_TRACES_SAMPLE_RATE')
  const reachSampleRate = settings.read('REACH_SAMPLE_RATE')
  return {
    options: {
      environment: settings.read('SENTRY_ENVIRONMENT'),
      ...(release && { release }),
      ...(tracesSampleRate !== undefined && { tracesSampleRate }),
      replaysOnErrorSampleRate: settings.read('SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE'),
    },
    reachSampleRate: forward ? reachSampleRate : 0, // the inbox is no host
    feedback: settings.read('SENTRY_FEEDBACK'),
    privacy: settings.read('PRIVACY_SIGNAL'),
  }
}

function readReportSettings(settings: SettingsReader, { on }: FilterSettings): ReportSettings {
  return {
    types: new Set(REPORT_TYPES.filter((type) => !on.has(`report-${type}`))),
    release: settings.read('SENTRY_RELEASE'),
    environment: settings.read('SENTRY_ENVIRONMENT'),
  }
}

function readFilters(settings: SettingsReader): FilterSettings {
  return {
    nextNoise: settings.read('DROP_NEXT_NOISE'),
    on: settings.read('FILTERS'),
    messages: readGlobs(settings, 'FILTER_ERROR_MESSAGES'),
    releases: readGlobs(settings, 'FILTER_RELEASES'),
    addresses: settings.read('FILTER_ADDRESSES'),
  }
}

function readGlobs(settings: SettingsReader, name: 'FILTER_ERROR_MESSAGES' | 'FILTER_RELEASES'): string[] {
  const globs = settings.read(name)
  for (const glob of globs)
    if (!compiles(glob))
      settings.problems.push(`${name}: "${glob}" is not a glob; write one like *ChunkLoadError*`)
  return globs
}

function compiles(glob: string): boolean {
  try {
    return compileGlobs([glob]) !== undefined
  } catch {
    return false
  }
}

function readProxies(settings: SettingsReader): ProxySettings | undefined {
  const httpProxy = settings.read('HTTP_PROXY')
  const httpsProxy = settings.read('HTTPS_PROXY')
  const noProxy = settings.read('NO_PROXY')
  return httpProxy || httpsProxy ? { httpProxy, httpsProxy, noProxy } : undefined
}

/** Kubernetes sets an address of its API in each container, and our images set REVISION. */
function deploymentOf({ KUBERNETES_SERVICE_HOST: api, REVISION: revision }: Environment): Deployment {
  if (api !== undefined) return 'chart'
  return revision === undefined ? 'plain' : 'compose'
}
