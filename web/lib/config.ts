/** Settings of web. No other file reads the environment. */

import { readAdminToken } from 'contract/admin-token'
import type { CertificateFile } from 'contract/certificates'
import { envelopeUrl, formatDsn, INBOX, originOf, reportsUrl, tunnelUrl } from 'contract/dsn'
import type { Environment } from 'contract/settings'
import { readPageSettings, SettingsReader } from 'contract/settings-reader'
import { findUnknown } from 'contract/unknown-settings'
import type { BrowserSettings } from './sentry/browser-config.ts'
import type { PrivacySignal } from './sentry/privacy.ts'

export type DsnPlace = '.env' | 'SENTRY_DSN_FILE'

export type Config = {
  /** Settings for browsers of visitors without a privacy signal. */
  browser: BrowserSettings
  privacySignal: PrivacySignal
  /** URL for reports of web's own server; absent: they stay in its log. */
  serverTunnel?: string
  /** Path that browsers post reports to. */
  tunnelPath: string
  /** URL that browsers post reports about these pages to; absent: they are not asked to. */
  reportsUrl?: string
  /** URL of the script that tests whether browsers reach Sentry; absent: no page tests. */
  reachTestUrl?: string
  /** Path of the connection check. */
  checkPath: string
  /** Place of SENTRY_DSN: `.env`, or the file that SENTRY_DSN_FILE names. */
  dsnPlace: DsnPlace
  /** Host and origin of Sentry; absent in inbox mode. */
  sentryHost?: string
  sentryOrigin?: string
  /** URL that an SDK without a tunnel would post to, for the connection check; absent in inbox mode. */
  directUrl?: string
  /** Set when anyone may trigger errors in the error lab. */
  lab: boolean
  /** Admin ports of the tunnels, each `host:port`, and their token. A name may resolve to several. */
  tunnelAdmins: string[]
  adminToken?: string
  /** Additional certificate authorities. */
  caFile?: CertificateFile
  /** Folder with source maps of scripts of sites. */
  sourceMaps?: string
  /** Password of the console or its hash; absent: there is no console. */
  operatorPassword?: string
}

/** Reads the settings of this process. Problems are appended to `problems`. */
export function config(problems: string[] = []): Config {
  return readConfig(process.env, problems)
}

/** Returns a sentence for each variable that was a setting, or looks like a misspelt one. */
export function unknownSettings(): string[] {
  return findUnknown(process.env)
}

/** Reads every setting of web. Each problem is appended to `problems`, and a default takes its place. */
export function readConfig(
  env: Environment,
  problems: string[],
  settings = new SettingsReader(env, problems),
): Config {
  const [tunnelPath = ''] = settings.read('TUNNEL_PATHS')
  const [configured] = settings.read('SENTRY_DSN')
  const dsn = configured ?? INBOX
  // nginx and the tunnel read these; Next's standalone server reads PORT, and takes 3000 where it cannot. A bad value is reported by all.
  for (const name of ['TRUSTED_PROXIES', 'MAX_ENVELOPE_BYTES', 'PORT'] as const) settings.read(name)
  const release = settings.read('SENTRY_RELEASE')
  const tracesSampleRate = settings.read('SENTRY_TRACES_SAMPLE_RATE')
  const tunnel = tunnelUrl(tunnelPath, dsn)
  const tunnelOrigin = settings.read('TUNNEL_ORIGIN')
  const adminToken = readAdminToken(settings)
  const operatorPassword = settings.read('OPERATOR_PASSWORD')
  const caFile = settings.read('CA_FILE')
  const sourceMaps = settings.read('SOURCE_MAPS')
  const reachSampleRate = settings.read('REACH_SAMPLE_RATE')
  const lab = settings.read('LAB', configured === undefined)
  return {
    browser: {
      dsn: formatDsn(dsn),
      tunnel,
      environment: settings.read('SENTRY_ENVIRONMENT'),
      ...(release && { release }),
      ...(tracesSampleRate !== undefined && { tracesSampleRate }),
      replaysOnErrorSampleRate: settings.read('SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE'),
      feedback: settings.read('SENTRY_FEEDBACK'),
    },
    privacySignal: settings.read('PRIVACY_SIGNAL'),
    ...(tunnelOrigin && { serverTunnel: tunnelOrigin + tunnel }),
    tunnelPath,
    ...(lab && { reportsUrl: reportsUrl(tunnelPath, dsn) }),
    checkPath: readPageSettings(settings).checkPath,
    dsnPlace: settings.fromFile.includes('SENTRY_DSN') ? 'SENTRY_DSN_FILE' : '.env',
    ...(configured && {
      sentryHost: configured.host,
      sentryOrigin: originOf(configured),
      directUrl: envelopeUrl(configured),
      ...(reachSampleRate > 0 && { reachTestUrl: tunnelUrl(`${tunnelPath}/sdk/reach.js`, configured) }),
    }),
    lab,
    tunnelAdmins: settings.read('TUNNEL_ADMIN'),
    ...(adminToken && { adminToken }),
    ...(operatorPassword && { operatorPassword }),
    ...(caFile && { caFile }),
    ...(sourceMaps && { sourceMaps }),
  }
}
