/** The settings in force, by the names that an operator writes and as they are written, secrets masked. */

import type { Config as TunnelConfig } from '../tunnel/src/config/config.ts'
import {
  type Setting,
  sharedSettings,
  tunnelSettings,
  writeSetting,
} from '../tunnel/src/config/public-config.ts'
import type { Environment } from '../tunnel/src/config/settings.ts'
import type { Config as WebConfig } from '../web/lib/config.ts'
import type { Config } from './environment.ts'

/** What concerns the same processes; a value stands for what nobody has set, too. */
export type Group = { title: string; settings: Record<string, Setting> }

export type InForce = {
  env: Environment
  site: Pick<Config, 'httpHost' | 'httpPort'>
  tunnel: TunnelConfig
  web: WebConfig
}

export function showSettings(inForce: InForce): string {
  const groups = [ofAll, ofNginx, ofTunnels, ofWeb, ofCompose, ofProcesses].map((show) => show(inForce))
  const width = Math.max(
    ...groups.flatMap(({ settings }) => Object.keys(settings)).map(({ length }) => length),
  )
  const lines = groups.flatMap(({ title, settings }) => [
    '',
    title,
    ...Object.entries(settings).map(([name, value]) =>
      `${isSet(inForce.env, name) ? '*' : ' '} ${name.padEnd(width)}  ${writeSetting(value)}`.trimEnd(),
    ),
  ])
  return ['In force; * marks what is set, all else is a default. Secrets are not shown.', ...lines].join('\n')
}

function isSet(env: Environment, name: string): boolean {
  return [name, `${name}_FILE`, name.toLowerCase()].some((each) => Boolean(env[each]?.trim()))
}

function ofAll({ tunnel, web, env }: InForce): Group {
  const settings = {
    ...sharedSettings(tunnel),
    OPERATOR_PASSWORD: masked(web.operatorPassword),
    ADMIN_TOKEN: isSet(env, 'ADMIN_TOKEN')
      ? masked('set')
      : tunnel.adminToken && 'derived from OPERATOR_PASSWORD',
  }
  return { title: 'nginx, web and the tunnels', settings }
}

function masked(secret: string | undefined): string | undefined {
  return secret && '…'
}

function ofNginx({ site }: InForce): Group {
  return { title: 'nginx', settings: { HTTP_HOST: site.httpHost, HTTP_PORT: site.httpPort } }
}

function ofTunnels({ tunnel }: InForce): Group {
  return { title: 'The tunnels', settings: tunnelSettings(tunnel) }
}

function ofWeb({ web: { browser, privacySignal, lab } }: InForce): Group {
  const settings = {
    LAB: lab,
    PRIVACY_SIGNAL: privacySignal,
    SENTRY_ENVIRONMENT: browser.environment,
    SENTRY_RELEASE: browser.release,
    SENTRY_SAMPLE_RATE: browser.sampleRate,
    SENTRY_TRACES_SAMPLE_RATE: browser.tracesSampleRate,
    SENTRY_REPLAYS_SESSION_SAMPLE_RATE: browser.replays.session,
    SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE: browser.replays.onError,
    SENTRY_FEEDBACK: browser.feedback,
    SENTRY_LOGS: browser.logs,
    SENTRY_METRICS: browser.metrics,
    SENTRY_TRACEPARENT: browser.traceparent,
  }
  return { title: 'web', settings }
}

/** Read by the compose files, whose defaults these are. */
const COMPOSED = {
  HTTPS_PORT: 8443,
  HTTP_PORT_2: 8082,
  TLS_FOLDER: undefined,
  INGEST_SUBNET: '10.203.113.0/24',
  NODE_IMAGE: 'node:24-slim',
  NGINX_IMAGE: 'nginx:1.30',
  NATS_IMAGE: 'nats:2',
  PROMETHEUS_IMAGE: 'prom/prometheus:v3.5.0',
  GRAFANA_IMAGE: 'grafana/grafana:12.1.0',
  GRAFANA_PORT: 3001,
}

function ofCompose({ env }: InForce): Group {
  const settings = Object.fromEntries(
    Object.entries(COMPOSED).map(([name, byDefault]) => [name, env[name] || byDefault]),
  )
  return { title: 'Compose', settings }
}

function ofProcesses({ env, tunnel, web }: InForce): Group {
  const settings = {
    HOST: tunnel.host,
    PORT: tunnel.port,
    ADMIN_HOST: tunnel.adminHost,
    ADMIN_PORT: tunnel.adminPort,
    EDGE: tunnel.edge.join(' '),
    SPOOL_CREDENTIALS_FILE: env.SPOOL_CREDENTIALS_FILE,
    TUNNEL_ADMIN: web.tunnelAdmins.join(' '),
    TUNNEL_ORIGIN: env.TUNNEL_ORIGIN,
    NODE_EXTRA_CA_CERTS: env.NODE_EXTRA_CA_CERTS,
  }
  return {
    title: 'Processes that you start yourself; npm start and compose choose all but the last',
    settings,
  }
}
