/** Interface of a running tunnel, in the test's process or in its own. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Receipt } from '../../../contract/admin-api.ts'

export type LogLine = { msg?: string; receipt?: Receipt; [field: string]: unknown }

/** Token of the admin ports, unless a test sets another. */
export const TOKEN = 'token-of-the-tests'

const SPOOL_BYTES = 32 * 1024 * 1024 // 32 MiB: the spool's reserve of a larger one takes longer to write

/** Settings with which a busy machine does not make Sentry late. Tests of a slow Sentry set their own. */
export const PATIENT_UPSTREAM = {
  UPSTREAM_LATE_MS: '30000',
}

/** Returns the settings of a tunnel whose files are in `folder`. Those of `env` add to them, or replace them. */
export function settingsOf(folder: string, env: Record<string, string> = {}) {
  const spool = {
    SPOOL_URL: pathToFileURL(join(folder, 'spool.db')).href,
    SPOOL_BYTES: String(SPOOL_BYTES),
  }
  return {
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    ADMIN_TOKEN: TOKEN,
    BODY_DIR: join(folder, 'bodies'),
    ...(env.SPOOL_URL === undefined && spool),
    ...env,
  }
}

export type RunningTunnel = {
  port: number
  adminPort: number
  token: string
  /** Log lines so far. */
  readonly logs: LogLine[]
  /** Resolves with the first log line, past or future, that `wanted` accepts. */
  log: (wanted: (line: LogLine) => boolean, wait?: number) => Promise<LogLine>
}

export type TunnelAccess = ReturnType<typeof readTunnel>

export function readTunnel(tunnel: RunningTunnel) {
  const { port, adminPort, token, log } = tunnel
  const adminUrl = `http://127.0.0.1:${adminPort}`
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    adminUrl,
    token,
    get logs(): LogLine[] {
      return tunnel.logs
    },
    log,
    /** Receipts logged so far. */
    get receipts(): Receipt[] {
      return tunnel.logs.flatMap(({ receipt }) => receipt ?? [])
    },
    /** Resolves with the first receipt, past or future, that `wanted` accepts. */
    async receipt(wanted: (receipt: Receipt) => boolean): Promise<Receipt> {
      const line = await log(({ receipt }) => receipt !== undefined && wanted(receipt))
      return line.receipt as Receipt
    },
    /** Sends a request to its admin port, with the token. */
    admin: (path: string, init?: RequestInit) =>
      fetch(`${adminUrl}${path}`, { headers: { authorization: `Bearer ${token}` }, ...init }),
  }
}

/** Returns a line that is not JSON as a message. */
export function parseLine(text: string): LogLine {
  try {
    return JSON.parse(text)
  } catch {
    return { msg: text }
  }
}
