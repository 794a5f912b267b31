/** The settings of web, read from the environment: the only file that looks there. */

import { readAdminToken } from 'tunnel/admin-token'
import {
  type Dsn,
  envelopeUrl,
  formatDsn,
  INBOX_DSN,
  originOf,
  parseDsn,
  readDsns,
  tunnelUrl,
} from 'tunnel/dsn'
import {
  type Environment,
  readChoice,
  readInteger,
  readSecret,
  readSharedSettings,
  readSwitch,
} from 'tunnel/settings'
import { passwordProblem } from './password.ts'
import type { BrowserSettings } from './sentry/browser-config.ts'
import { PRIVACY_SIGNALS, type PrivacySignal } from './sentry/privacy.ts'

export type Config = {
  /** What every document hands to the browser, for a visitor who asks for nothing. */
  browser: BrowserSettings
  privacySignal: PrivacySignal
  /** URL that web's own server posts reports to; absent: they stay in its log. */
  serverTunnel?: string
  /** Path that browsers post reports to. */
  tunnelPath: string
  /** Host and origin of the Sentry that reports go on to; absent in inbox mode. */
  sentryHost?: string
  sentryOrigin?: string
  /** URL that an SDK without a tunnel would post to, which the self-check tries; absent in inbox mode. */
  directUrl?: string
  /** Whether the error lab is open: anyone may raise reports there. */
  lab: boolean
  /** Where the admin ports of the tunnels are, each `host:port`; a name may stand for several. And what opens them. */
  tunnelAdmins: string[]
  adminToken?: string
  /** Opens the console: a password or its hash. Absent: there is no console. */
  operatorPassword?: string
}

const DEFAULT_PORT = 3000
const DEFAULT_ENVIRONMENT = 'production' // Sentry's own default

/** The settings of this process. What is wrong with them is appended to `problems`, and told at start (`instrumentation.ts`). */
export function config(problems: string[] = []): Config {
  return readConfig(process.env, problems)
}

/** Reads every setting of web. Each problem is appended to `problems`, and a default takes its place. */
export function readConfig(env: Environment, problems: string[]): Config {
  const { tunnelPaths } = readSharedSettings(env, problems)
  const [tunnelPath = ''] = tunnelPaths
  const [configured] = readDsns(readSecret(env, 'SENTRY_DSN', problems), problems)
  const dsn = configured ?? inboxDsn()
  // Next's standalone server reads PORT itself, and takes 3000 in silence for what it cannot read.
  readInteger(env, 'PORT', 'port', DEFAULT_PORT, [1, 65535], problems)
  const environment = readEnvironment(env, problems)
  const release = readRelease(env, problems)
  const share = (name: string) => readShare(env, name, problems)
  const isOn = (name: string) => readSwitch(env, name, false, problems)
  const tracesSampleRate = share('SENTRY_TRACES_SAMPLE_RATE')
  const tunnel = tunnelUrl(tunnelPath, dsn)
  const tunnelOrigin = readTunnelOrigin(env, problems)
  const adminToken = readAdminToken(env, problems)
  const operatorPassword = readOperatorPassword(env, problems)
  return {
    browser: {
      dsn: formatDsn(dsn),
      tunnel,
      environment,
      ...(release && { release }),
      sampleRate: share('SENTRY_SAMPLE_RATE') ?? 1,
      ...(tracesSampleRate !== undefined && { tracesSampleRate }),
      replays: {
        session: share('SENTRY_REPLAYS_SESSION_SAMPLE_RATE') ?? 0,
        onError: share('SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE') ?? 0,
      },
      feedback: isOn('SENTRY_FEEDBACK'),
      logs: isOn('SENTRY_LOGS'),
      metrics: isOn('SENTRY_METRICS'),
      traceparent: isOn('SENTRY_TRACEPARENT'),
    },
    privacySignal: readChoice(env, 'PRIVACY_SIGNAL', PRIVACY_SIGNALS, 'errors', problems),
    ...(tunnelOrigin && { serverTunnel: tunnelOrigin + tunnel }),
    tunnelPath,
    ...(configured && {
      sentryHost: configured.host,
      sentryOrigin: originOf(configured),
      directUrl: envelopeUrl(configured),
    }),
    lab: readSwitch(env, 'LAB', configured === undefined, problems),
    tunnelAdmins: readTunnelAdmins(env, problems),
    ...(adminToken && { adminToken }),
    ...(operatorPassword && { operatorPassword }),
  }
}

function inboxDsn(): Dsn {
  const dsn = parseDsn(INBOX_DSN)
  if (!dsn) throw new Error(`${INBOX_DSN} is not a DSN`)
  return dsn
}

// What Sentry takes for an environment: docs.sentry.io/concepts/key-terms/environments
const ENVIRONMENT = /^(?!None$)[^\s/]{1,64}$/

function readEnvironment(env: Environment, problems: string[]): string {
  const given = env.SENTRY_ENVIRONMENT?.trim()
  if (!given) return DEFAULT_ENVIRONMENT
  if (!ENVIRONMENT.test(given))
    problems.push(
      `SENTRY_ENVIRONMENT: "${given}" is not an environment; write up to 64 characters without spaces and slashes, other than None`,
    )
  return given
}

// What Sentry takes for a release: docs.sentry.io/product/releases/naming-releases
const RELEASE = /^(?!\.{1,2}$)[^\n\t/\\]{1,200}$/

function readRelease(env: Environment, problems: string[]): string | undefined {
  const given = env.SENTRY_RELEASE?.trim()
  if (!given) return undefined
  if (!RELEASE.test(given))
    problems.push(
      `SENTRY_RELEASE: "${given}" is not a release; write up to 200 characters without slashes, tabs and line breaks, other than . and ..`,
    )
  return given
}

/**
 * A share from 0 to 1. Unset is not 0 for traces: with 0 the browser tells whoever it calls that the trace is not to be kept, unset
 * leaves that to them. Either way it sends none, which would come off the operator's quota unasked.
 */
function readShare(env: Environment, name: string, problems: string[]): number | undefined {
  const given = env[name]?.trim()
  if (!given) return undefined
  if (/^(0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(given)) return Number(given)
  problems.push(`${name}: "${given}" is not a share; write a number from 0 to 1, like 0.2`)
  return undefined
}

function readTunnelOrigin(env: Environment, problems: string[]): string | undefined {
  const given = env.TUNNEL_ORIGIN?.trim()
  if (!given) return undefined
  if (URL.canParse(given) && /^https?:\/\/[^/?#@]+$/.test(given)) return given
  problems.push(
    `TUNNEL_ORIGIN: "${given}" is not an origin; write that of nginx's inner listener, like http://nginx:8081`,
  )
  return undefined
}

/** Said without the password itself: problems stand in the log. */
function readOperatorPassword(env: Environment, problems: string[]): string | undefined {
  const given = readSecret(env, 'OPERATOR_PASSWORD', problems)
  if (given === undefined) return undefined
  const problem = passwordProblem(given)
  if (problem) problems.push(`OPERATOR_PASSWORD: it ${problem}`)
  return given
}

function readTunnelAdmins(env: Environment, problems: string[]): string[] {
  const given = (env.TUNNEL_ADMIN ?? '').split(/[\s,]+/).filter(Boolean)
  for (const authority of given)
    if (!/^([\w.-]+|\[[\da-f:]+\]):\d{1,5}$/i.test(authority))
      problems.push(
        `TUNNEL_ADMIN: "${authority}" is not a host with a port; write one like tunnel-admin:9091, several separated by commas or spaces`,
      )
  return given
}
