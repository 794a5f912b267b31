/** The deployment that is looked at: what it told of itself, and every answer that its tunnel gave. */

import { randomBytes } from 'node:crypto'
import { type Dsn, formatDsn, parseDsn, tunnelUrl } from '../tunnel/src/envelope/dsn.ts'
import { type AdminPorts, openAdminPorts } from './admin-client.ts'
import type { Run } from './envelopes.ts'
import type { Orders } from './options.ts'
import { type Answer, type Asking, ask, jsonOf, NoAnswer } from './request.ts'

export type Deployment = {
  site: string
  host: string
  /** The front page, asked for once; `undefined` where nobody answered. */
  page: Answer | undefined
  path: string
  dsn: Dsn | undefined
  lists: string[]
  closed: number[]
  run: Run
  /** What browsers post to: path and query. */
  target: string
  /** Posts as a page of this site does, to `target` unless told otherwise. Throws `NoAnswer`. */
  post(body: Buffer, posting?: Posting): Promise<Answer>
  /** All answers to posts so far, each with what was posted. */
  posted: Posted[]
  /** The tunnels' admin ports; `undefined` when the doctor has only the outside. */
  inside: AdminPorts | undefined
}

export type Posting = Pick<Asking, 'headers' | 'within'> & { path?: string; about?: string }
export type Posted = { about: string | undefined; bytes: number; answer: Answer }

export async function meet(orders: Orders): Promise<Deployment> {
  const { site, lists, closed } = orders
  const page = await unlessAway(ask(`${site}/`, { headers: { accept: 'text/html' } }))
  const told = await settingsOf(site, page)
  const dsn = orders.dsn ?? parseDsn(String(told.dsn ?? ''))
  const path = orders.path ?? pathOf(told.tunnel, site)
  const target = dsn ? tunnelUrl(path, dsn) : path
  const posted: Posted[] = []

  async function post(body: Buffer, posting: Posting = {}): Promise<Answer> {
    const { headers, path = target, about, ...asking } = posting
    const answer = await ask(`${site}${path}`, {
      method: 'POST',
      body,
      headers: { ...asAPageOf(site), ...headers },
      ...asking,
    })
    posted.push({ about, bytes: body.length, answer })
    return answer
  }

  const run = { id: randomBytes(16).toString('hex'), now: Date.now() }
  const inside = orders.inside && (await openAdminPorts(orders.inside))
  return {
    site,
    host: new URL(site).hostname,
    page,
    path,
    dsn,
    lists,
    closed,
    run,
    target,
    post,
    posted,
    inside,
  }
}

async function unlessAway(asked: Promise<Answer>): Promise<Answer | undefined> {
  return asked.catch((error) => {
    if (error instanceof NoAnswer) return undefined
    throw error
  })
}

/** As web tells them every browser: in the document, and where that could not be by itself. */
async function settingsOf(site: string, page: Answer | undefined): Promise<Record<string, unknown>> {
  if (page?.status !== 200) return {}
  const [, attribute] = /<html[^>]*\sdata-settings="([^"]*)"/.exec(page.text) ?? []
  if (attribute !== undefined)
    return jsonOf({ ...page, text: attribute.replaceAll('&quot;', '"').replaceAll('&amp;', '&') })
  const answer = await unlessAway(ask(`${site}/settings.json`))
  return answer?.status === 200 ? jsonOf(answer) : {}
}

/** README's default where the page does not tell it. */
function pathOf(tunnel: unknown, site: string): string {
  const url = typeof tunnel === 'string' ? URL.parse(tunnel, site) : null
  return url?.pathname.replace(/\/$/, '') || '/monitoring'
}

function asAPageOf(site: string): Record<string, string> {
  return {
    'content-type': 'text/plain;charset=UTF-8',
    'user-agent': 'Mozilla/5.0 (compatible; culvert-doctor)',
    origin: site,
    referer: `${site}/`,
    'sec-fetch-site': 'same-origin',
  }
}

/** The DSN as SDKs write it; throws where none is known, which `needsDsn` has ruled out. */
export function dsnText({ dsn }: Pick<Deployment, 'dsn'>): string {
  if (!dsn) throw new Error('no DSN is known')
  return formatDsn(dsn)
}

/** The token by which the tunnel that took it knows its receipt. */
export function receiptToken({ headers }: Answer): string | undefined {
  const token = headers['x-culvert-receipt']
  return typeof token === 'string' && /^[0-9a-f]{32}$/.test(token) ? token : undefined
}
