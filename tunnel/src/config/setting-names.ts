/** The names of all settings, and what in an environment looks like one of them misspelt. */

import { distance } from 'fastest-levenshtein'
import type { Environment } from './settings.ts'

/** As README lists them. */
const OF_README = `
  SENTRY_DSN TUNNEL_PATHS DERIVED_PATHS TRUSTED_PROXIES MAX_ENVELOPE_BYTES OPERATOR_PASSWORD ADMIN_TOKEN
  HTTP_HOST HTTP_PORT TLS_FOLDER HTTPS_PORT HTTP_PORT_2 INGEST_SUBNET
  NODE_IMAGE NGINX_IMAGE NATS_IMAGE PROMETHEUS_IMAGE GRAFANA_IMAGE GRAFANA_PORT
  LAB PRIVACY_SIGNAL TUNNEL_ADMIN TUNNEL_ORIGIN SENTRY_ENVIRONMENT SENTRY_RELEASE SENTRY_SAMPLE_RATE
  SENTRY_TRACES_SAMPLE_RATE SENTRY_REPLAYS_SESSION_SAMPLE_RATE SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE
  SENTRY_FEEDBACK SENTRY_LOGS SENTRY_METRICS SENTRY_TRACEPARENT
  ALLOWED_ORIGINS DROP_NEXT_NOISE FILTERS FILTER_ERROR_MESSAGES FILTER_RELEASES
  ADDRESS_RATE ADDRESS_BURST ADDRESS_BYTES PROJECT_RATE PROJECT_BURST
  INBOX INBOX_FILE SPOOL_URL SPOOL_CREDENTIALS_FILE SPOOL_BYTES SPOOL_HOURS BODY_DIR MEMORY_BYTES BODY_TIMEOUT_MS HEADER_BYTES TOTAL_HEADER_BYTES MAX_ITEMS
  UPSTREAM_CONNECT_MS UPSTREAM_ANSWER_MS UPSTREAM_LATE_MS UPSTREAM_CONNECTIONS
  HTTPS_PROXY HTTP_PROXY NO_PROXY NODE_EXTRA_CA_CERTS
  LOG_LEVEL HOST PORT ADMIN_HOST ADMIN_PORT EDGE`
const OF_SECRET_FILES = 'SENTRY_DSN_FILE OPERATOR_PASSWORD_FILE ADMIN_TOKEN_FILE SPOOL_URL_FILE'
const OF_BUILDS = 'SENTRY_AUTH_TOKEN SENTRY_ORG SENTRY_PROJECT SENTRY_URL'

export const SETTING_NAMES: readonly string[] = wordsOf(OF_README)
const KNOWN = new Set([...SETTING_NAMES, ...wordsOf(OF_SECRET_FILES), ...wordsOf(OF_BUILDS)])
const IN_EITHER_CASE = new Set(['https_proxy', 'http_proxy', 'no_proxy'])

const SHORTEST = 6 // HOST and POST are words of others too
const LONG = 14 // from here on two slips are one name still

/** A sentence for each. What belongs to others is passed over: an environment is full of it. */
export function findMisspelt(env: Environment): string[] {
  return Object.keys(env).flatMap((name) => {
    if (!env[name] || KNOWN.has(name) || IN_EITHER_CASE.has(name)) return []
    const meant = meantBy(name.toUpperCase())
    return meant === undefined ? [] : [`${name}: it is no setting and has no effect; did you mean ${meant}?`]
  })
}

function meantBy(name: string): string | undefined {
  const near = [...KNOWN].flatMap((known) => {
    const slips = known.length < SHORTEST ? Infinity : slipsBetween(name, known)
    return slips <= (known.length < LONG ? 1 : 2) ? [{ known, slips }] : []
  })
  return near.sort((a, b) => a.slips - b.slips)[0]?.known
}

/** Returns the Levenshtein distance; a letter in a wrong place counts as one slip, not two. */
function slipsBetween(a: string, b: string): number {
  const slips = distance(a, b)
  return slips === 2 && sorted(a) === sorted(b) ? 1 : slips
}

function sorted(text: string): string {
  return [...text].sort().join('')
}

function wordsOf(text: string): string[] {
  return text.trim().split(/\s+/)
}
