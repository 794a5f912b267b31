/** Describes the deployment that is checked: its page, tunnel path and DSN, and every response of its tunnel. */

import { randomBytes } from 'node:crypto'
import { formatDsn, parseDsn, tunnelUrl } from 'contract/dsn'
import type { Environment } from 'contract/settings'
import { type AdminClient, openAdminClient } from './admin-client.ts'
import type { Run } from './envelopes.ts'
import { type Options, UsageError } from './options.ts'
import {
  type HttpResponse,
  jsonOf,
  NoResponse,
  type RequestOptions,
  send,
  sendIfUp,
  WrongCertificate,
} from './request.ts'

export type Deployment = {
  site: string
  host: string
  /** Response for the front page; `undefined` when the site did not respond. */
  page: HttpResponse | undefined
  /** Tunnel path. */
  path: string
  dsn: string | undefined
  projectId: string | undefined
  /** Ad-block lists, as text. */
  filterLists: string[]
  closedPorts: number[]
  run: Run
  /** Path and query that browsers post to. */
  target: string
  /** Posts as a page of this site does, to `target` by default. Throws `NoResponse`. */
  post(body: Buffer, options?: PostOptions): Promise<HttpResponse>
  /** All posts so far. */
  posts: Post[]
  /** Client of the admin ports; `undefined` when they were not named. */
  admin: AdminClient | undefined
  /** Settings of a Culvert on this machine. */
  env: Environment
}

type PostOptions = Pick<RequestOptions, 'headers' | 'timeoutMs'> & { path?: string; label?: string }

/** Post that the doctor made; `label` lets later checks find it. */
export type Post = { label: string | undefined; bytes: number; response: HttpResponse }

/** Loads the front page, and derives the settings that the options do not name from it. */
export async function openDeployment(options: Options): Promise<Deployment> {
  const { site, filterLists, closedPorts, env } = options
  const page = await send(`${site}/`, { headers: { accept: 'text/html' } }).catch((error) => {
    if (error instanceof WrongCertificate) throw new UsageError(error.message) // each check would blame something else
    if (error instanceof NoResponse) return undefined
    throw error
  })
  const settings = await readSettings(site, page)
  const dsn = options.dsn ?? parseDsn(String(settings.dsn ?? ''))
  const path = options.path ?? tunnelPath(settings.tunnel, site)
  const target = dsn ? tunnelUrl(path, dsn) : path
  const posts: Post[] = []

  async function post(body: Buffer, postOptions: PostOptions = {}): Promise<HttpResponse> {
    const { headers, path = target, label, ...rest } = postOptions
    const response = await send(`${site}${path}`, {
      method: 'POST',
      body,
      headers: { ...browserHeaders(site), ...headers },
      ...rest,
    })
    posts.push({ label, bytes: body.length, response })
    return response
  }

  return {
    site,
    host: new URL(site).hostname,
    page,
    path,
    dsn: dsn && formatDsn(dsn),
    projectId: dsn?.projectId,
    filterLists,
    closedPorts,
    run: { id: randomBytes(16).toString('hex'), now: Date.now() },
    target,
    post,
    posts,
    admin: options.admin && (await openAdminClient(options.admin)),
    env,
  }
}

/** Reads the settings that web gives to browsers: from the document, or else from `/console/public/settings.json`. */
async function readSettings(site: string, page: HttpResponse | undefined): Promise<Record<string, unknown>> {
  if (page?.status !== 200) return {}
  const [, attribute] = /<html[^>]*\sdata-settings="([^"]*)"/.exec(page.text) ?? []
  if (attribute !== undefined)
    return jsonOf({ ...page, text: attribute.replaceAll('&quot;', '"').replaceAll('&amp;', '&') })
  const response = await sendIfUp(`${site}/console/public/settings.json`)
  return response?.status === 200 ? jsonOf(response) : {}
}

/** Returns the path in the page's settings, or the default of TUNNEL_PATHS. */
function tunnelPath(tunnel: unknown, site: string): string {
  const url = typeof tunnel === 'string' ? URL.parse(tunnel, site) : null
  return url?.pathname.replace(/\/$/, '') || '/monitoring'
}

function browserHeaders(site: string): Record<string, string> {
  return {
    'content-type': 'text/plain;charset=UTF-8',
    'user-agent': 'Mozilla/5.0 (compatible; culvert-doctor)',
    origin: site,
    referer: `${site}/`,
    'sec-fetch-site': 'same-origin',
  }
}

/** Returns the receipt token that a tunnel adds to its response. */
export function receiptToken({ headers }: HttpResponse): string | undefined {
  const token = headers['x-culvert-receipt']
  return typeof token === 'string' && /^[0-9a-f]{32}$/.test(token) ? token : undefined
}

/** Returns ALLOWED_ORIGINS of the tunnels, with a subdomain for each wildcard; none where they cannot be asked. */
export async function allowedOrigins({ admin }: Pick<Deployment, 'admin'>): Promise<string[]> {
  const [status] = (await admin?.statuses()) ?? []
  const entries = status?.settings.ALLOWED_ORIGINS?.match(/[a-z][a-z\d+.-]*:\/\/[^\s,]*/g) ?? []
  return entries.map((entry) => entry.replace('*', 'doctor'))
}
