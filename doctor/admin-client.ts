/** Reads status and receipts from the tunnels' admin ports. */

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { DOCTOR_PREFIX, type Receipt, type ReplicaStatus } from 'contract/admin-api'
import { type AdminAccess, UsageError } from './options.ts'
import { jsonOf, NoResponse, send, sendIfUp } from './request.ts'

export type AdminClient = {
  /** Returns the present status of every replica, without warnings of the doctor itself. */
  statuses(): Promise<ReplicaStatus[]>
  /** Returns the receipt of a token; `undefined` when no replica has it. */
  receipt(token: string): Promise<Receipt | undefined>
  /** Sends findings to every replica, which shows them in the console instead of those of the last run. */
  publish(findings: readonly string[]): Promise<void>
}

/** Throws a `UsageError` if a replica does not respond, or rejects the secret. */
export async function openAdminClient({ urls, token }: AdminAccess): Promise<AdminClient> {
  const origins = [...new Set((await Promise.all(urls.map(resolveUrl))).flat())]
  const headers = { authorization: `Bearer ${token}` }
  const statuses = () => Promise.all(origins.map(readStatus))
  await statuses()
  return { statuses, receipt, publish }

  async function readStatus(origin: string): Promise<ReplicaStatus> {
    const response = await send(`${origin}/status`, { headers }).catch((error) => {
      throw error instanceof NoResponse ? new UsageError(`--admin: ${error.message}`) : error
    })
    if (response.status === 200) return withoutOwnWarnings(jsonOf(response) as ReplicaStatus)
    if (response.status === 401)
      throw new UsageError(
        `${origin} rejects the password or token. If OPERATOR_PASSWORD in .env is new, apply it first: npm run deploy. Otherwise check --password-file or --token-file.`,
      )
    const detail = jsonOf(response).detail ?? 'it is not an admin port.'
    throw new UsageError(`--admin: ${origin} responds with ${response.status}: ${detail}`)
  }

  async function publish(findings: readonly string[]): Promise<void> {
    const body = Buffer.from(JSON.stringify(findings))
    const request = { method: 'PUT', headers: { ...headers, 'content-length': `${body.length}` }, body }
    await Promise.all(origins.map((origin) => sendIfUp(`${origin}/doctor-findings`, request)))
  }

  async function receipt(wanted: string): Promise<Receipt | undefined> {
    const urls = origins.map((origin) => `${origin}/receipts/${wanted}`)
    const responses = await Promise.all(urls.map((url) => send(url, { headers })))
    const found = responses.find(({ status }) => status === 200)
    return found && (jsonOf(found) as Receipt)
  }
}

function withoutOwnWarnings(status: ReplicaStatus): ReplicaStatus {
  return { ...status, warnings: status.warnings.filter((each) => !each.startsWith(DOCTOR_PREFIX)) }
}

/** Returns a URL for every address of the name in `url`: several replicas may share one name. */
async function resolveUrl(url: string): Promise<string[]> {
  const { protocol, hostname, port } = new URL(url)
  if (protocol === 'https:' || isIP(hostname.replace(/[[\]]/g, ''))) return [url] // certificates need the name
  const all = await lookup(hostname, { all: true }).catch(() => {
    throw new UsageError(`--admin: the name ${hostname} cannot be resolved.`)
  })
  return all.map(
    ({ address, family }) => `http://${family === 6 ? `[${address}]` : address}${port && `:${port}`}`,
  )
}
