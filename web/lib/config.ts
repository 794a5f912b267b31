/** The settings of web, read from the environment: the only file that looks there. */

import { type Dsn, formatDsn, INBOX_DSN, parseDsn, readDsns, tunnelUrl } from 'tunnel/dsn'
import { type Environment, readInteger, readSecret, readSharedSettings } from 'tunnel/settings'
import type { BrowserSettings } from './browser-settings.ts'

export type Config = {
  /** What every document hands to the browser. */
  browser: BrowserSettings
  /** Path that browsers post reports to. */
  tunnelPath: string
  /** Host of the Sentry that reports go on to; absent in inbox mode. */
  sentryHost?: string
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
  const tracesSampleRate = readSampleRate(env, problems)
  return {
    browser: {
      dsn: formatDsn(dsn),
      tunnel: tunnelUrl(tunnelPath, dsn),
      environment,
      ...(release && { release }),
      ...(tracesSampleRate !== undefined && { tracesSampleRate }),
    },
    tunnelPath,
    ...(configured && { sentryHost: configured.host }),
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
 * Unset is not 0: with 0 the browser tells whoever it calls that the trace is not to be kept, unset leaves that to them.
 * Either way it sends no traces, which would come off the operator's quota unasked.
 */
function readSampleRate(env: Environment, problems: string[]): number | undefined {
  const given = env.SENTRY_TRACES_SAMPLE_RATE?.trim()
  if (!given) return undefined
  if (/^(0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(given)) return Number(given)
  problems.push(`SENTRY_TRACES_SAMPLE_RATE: "${given}" is not a share; write a number from 0 to 1, like 0.2`)
  return undefined
}
