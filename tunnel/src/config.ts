/** Settings of the tunnel, read once from the environment, or a refusal to start that lists every problem. */

import { scryptSync } from 'node:crypto'
import { type Dsn, INBOX_DSN, parseDsn, readDsns } from './dsn.ts'
import type { LogLevel } from './log.ts'
import {
  type Environment,
  readInteger,
  readNetworks,
  readSharedSettings,
  readSwitch,
  type SharedSettings,
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
  /** Peers whose `X-Forwarded-For` is believed. */
  edge: string[]
  /** Foreign origins that may post. */
  allowedOrigins: Set<string>
  /** A folder on a disk for bodies too large for memory. */
  bodyDir: string
  logLevel: LogLevel
}

/** Thrown by `readConfig`; `problems` holds a line for each. */
export class BadSettings extends Error {
  readonly problems: string[]

  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

const PORTS: [number, number] = [1, 65535]
const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
const LOOPBACK = ['127.0.0.0/8', '::1']

/** Throws `BadSettings`. */
export function readConfig(env: Environment): Config {
  const problems: string[] = []
  const dsns = readDsns(env.SENTRY_DSN, problems)
  const forward = dsns.length > 0
  const inboxed = readSwitch(env, 'INBOX', !forward, problems)
  const config: Config = {
    ...readSharedSettings(env, problems),
    host: env.HOST || '127.0.0.1',
    port: readInteger(env, 'PORT', 'port', 9090, PORTS, problems),
    adminHost: env.ADMIN_HOST || env.HOST || '127.0.0.1',
    adminPort: readInteger(env, 'ADMIN_PORT', 'port', 9091, PORTS, problems),
    adminToken: adminToken(env),
    dsns: forward ? dsns : [inboxDsn()],
    forward,
    inboxFile: inboxed || !forward ? env.INBOX_FILE || '.culvert/inbox.db' : undefined,
    edge: readNetworks(env, 'EDGE', LOOPBACK, problems),
    allowedOrigins: readOrigins(env.ALLOWED_ORIGINS, problems),
    bodyDir: env.BODY_DIR || '.culvert/bodies',
    logLevel: readLogLevel(env.LOG_LEVEL, problems),
  }
  if (problems.length > 0) throw new BadSettings(problems)
  return config
}

function inboxDsn(): Dsn {
  const dsn = parseDsn(INBOX_DSN)
  if (!dsn) throw new Error('INBOX_DSN is no DSN')
  return dsn
}

/** One secret is enough: the token follows from the operator's password (web derives the same), unless set itself. */
function adminToken(env: Environment): string | undefined {
  if (env.ADMIN_TOKEN) return env.ADMIN_TOKEN
  return env.OPERATOR_PASSWORD ? deriveAdminToken(env.OPERATOR_PASSWORD) : undefined
}

/** 32 bytes in hex, by scrypt with a fixed label. */
export function deriveAdminToken(password: string): string {
  return scryptSync(password, 'culvert admin token', 32).toString('hex')
}

function readOrigins(given: string | undefined, problems: string[]): Set<string> {
  const origins = (given ?? '').split(/[\s,]+/).filter(Boolean)
  for (const origin of origins)
    if (origin !== 'null' && !/^https?:\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/.test(origin))
      problems.push(
        `ALLOWED_ORIGINS: "${origin}" is not an origin; write https://other.example as browsers do, without a path, several separated by spaces or commas`,
      )
  return new Set(origins)
}

function readLogLevel(given: string | undefined, problems: string[]): LogLevel {
  if (!given) return 'info'
  const level = LOG_LEVELS.find((known) => known === given)
  if (!level) problems.push(`LOG_LEVEL: "${given}" is no level; write one of ${LOG_LEVELS.join(', ')}`)
  return level ?? 'info'
}
