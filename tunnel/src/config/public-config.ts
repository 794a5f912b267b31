/** The settings of a tunnel by the names that an operator writes, and as they are written: without secrets. */

import { formatDsn } from '../envelope/dsn.ts'
import { describeNats } from '../spool/jetstream/nats-url.ts'
import type { Config } from './config.ts'
import { withoutLogin } from './settings.ts'

/** A value stands for what nobody has set, too. */
export type Setting = string | number | boolean | undefined

const NONE = '–'
const HOUR_MS = 60 * 60 * 1000

/** Those that nginx and web have as well. */
export function sharedSettings(config: Config) {
  return {
    SENTRY_DSN: config.forward ? config.dsns.map(formatDsn).join(' ') : undefined,
    TUNNEL_PATHS: config.tunnelPaths.join('|'),
    DERIVED_PATHS: config.derivedPaths,
    TRUSTED_PROXIES: config.trustedProxies.join(' '),
    MAX_ENVELOPE_BYTES: config.maxEnvelopeBytes,
  }
}

export function tunnelSettings(config: Config) {
  const { filters, throttle, upstream, spool } = config
  return {
    ALLOWED_ORIGINS: [...config.allowedOrigins].join(' '),
    DROP_NEXT_NOISE: filters.nextNoise,
    FILTERS: filtersOn(config),
    FILTER_ERROR_MESSAGES: filters.errorMessages.join('|'),
    FILTER_RELEASES: filters.releases.join('|'),
    ADDRESS_RATE: throttle.addressRate,
    ADDRESS_BURST: throttle.addressBurst,
    ADDRESS_BYTES: throttle.addressBytes,
    PROJECT_RATE: throttle.projectRate,
    PROJECT_BURST: throttle.projectBurst,
    INBOX: config.inboxFile !== undefined,
    INBOX_FILE: config.inboxFile,
    SPOOL_URL: 'nats' in spool.place ? describeNats(spool.place.nats) : spool.place.file,
    SPOOL_BYTES: spool.bytes ?? defaultBytes(config),
    SPOOL_HOURS: spool.ageMs / HOUR_MS,
    BODY_DIR: config.bodyDir,
    MEMORY_BYTES: config.memoryBytes,
    BODY_TIMEOUT_MS: config.bodyMs,
    HEADER_BYTES: config.headers.headerBytes,
    TOTAL_HEADER_BYTES: config.headers.totalHeaderBytes,
    MAX_ITEMS: config.items,
    UPSTREAM_CONNECT_MS: upstream.connectMs,
    UPSTREAM_ANSWER_MS: upstream.answerMs,
    UPSTREAM_LATE_MS: upstream.lateMs,
    UPSTREAM_CONNECTIONS: upstream.connections,
    HTTPS_PROXY: upstream.proxies?.httpsProxy && withoutLogin(upstream.proxies.httpsProxy),
    HTTP_PROXY: upstream.proxies?.httpProxy && withoutLogin(upstream.proxies.httpProxy),
    NO_PROXY: upstream.proxies?.noProxy,
    LOG_LEVEL: config.logLevel,
  }
}

/** As in the environment; a dash where there is nothing. */
export function writeSetting(value: Setting): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  return value === undefined || value === '' ? NONE : String(value)
}

function defaultBytes({ spool }: Config): string {
  return 'nats' in spool.place
    ? 'as its stream has it, 5 GiB for a new one'
    : '5 GiB or half of the free disk'
}

function filtersOn({ filters }: Config): string {
  const on = {
    'browser-extensions': filters.browserExtensions,
    'web-crawlers': filters.webCrawlers,
    localhost: filters.localhost,
    'health-checks': filters.healthChecks,
  }
  return Object.entries(on)
    .flatMap(([name, isOn]) => (isOn ? name : []))
    .join(' ')
}
