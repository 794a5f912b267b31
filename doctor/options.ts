/** What the doctor was asked to do. */

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { UserError } from '../scripts/environment.ts'
import { deriveAdminToken } from '../tunnel/src/config/admin-token.ts'
import { type Dsn, parseDsn } from '../tunnel/src/envelope/dsn.ts'

export type Orders = {
  /** The public address: scheme, host and port. */
  site: string
  /** As given; what the page says where it is not. */
  path: string | undefined
  dsn: Dsn | undefined
  /** Ad-block lists, as text. */
  lists: string[]
  /** Ports of the site's host that nobody outside may reach. */
  closed: number[]
  inside: Inside | undefined
  json: boolean
}

/** The way to the tunnels' admin ports. */
export type Inside = { urls: string[]; token: string }

export const USAGE = `npm run doctor -- https://site.example [flags]
  --path PATH            the tunnel path, where the page is not Culvert's own and does not tell it (/monitoring)
  --dsn DSN              a DSN that the tunnel carries for, where the page does not tell it
  --list FILE|URL        an ad-block list to hold the path against; may stand several times
  --closed PORTS         ports of the host that must not answer (9090,9091)
  --admin URL            an admin port, like http://127.0.0.1:9091; may stand several times, and a name stands for all its addresses
  --password-file FILE   what OPERATOR_PASSWORD is set to, with --admin; .culvert/operator-password where npm start made it
  --token-file FILE      or the admin token, where ADMIN_TOKEN is set by itself
  --json                 for scripts. Exit status: 0 nothing failed, 1 something did, 2 it could not be tried`

/** Throws a `Rejection`. */
export async function readArguments(args: string[]): Promise<Orders> {
  const { values, positionals } = parse(args)
  const [site, ...rest] = positionals
  if (site === undefined || rest.length > 0) throw new UserError(`name one site.\n${USAGE}`)
  return {
    site: readSite(site),
    path: readPath(values.path),
    dsn: readDsn(values.dsn),
    lists: await Promise.all((values.list ?? []).map(readList)),
    closed: (values.closed ?? '9090,9091').split(',').map(readPort),
    inside: readInside(values),
    json: values.json ?? false,
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        path: { type: 'string' },
        dsn: { type: 'string' },
        list: { type: 'string', multiple: true },
        closed: { type: 'string' },
        admin: { type: 'string', multiple: true },
        'password-file': { type: 'string' },
        'token-file': { type: 'string' },
        json: { type: 'boolean' },
      },
    })
  } catch (error) {
    throw new UserError(`${(error as Error).message}\n${USAGE}`)
  }
}

function readSite(given: string): string {
  const url = URL.parse(given)
  if (url && /^https?:$/.test(url.protocol) && url.pathname === '/' && !url.search && !url.username)
    return url.origin
  throw new UserError(
    `"${given}" is not a site; write its address like https://site.example, without a path.`,
  )
}

function readPath(given: string | undefined): string | undefined {
  if (given === undefined || /^(\/[\w-]+)+$/.test(given)) return given
  throw new UserError(`--path: "${given}" is not a path; write one like /monitoring.`)
}

function readDsn(given: string | undefined): Dsn | undefined {
  if (given === undefined) return undefined
  const dsn = parseDsn(given)
  if (!dsn) throw new UserError('--dsn: this is not a DSN; write it as Sentry shows it.')
  return dsn
}

function readPort(given: string): number {
  const port = Number(given)
  if (Number.isInteger(port) && port > 0 && port < 65536) return port
  throw new UserError(`--closed: "${given}" is not a port; write some like 9090,9091.`)
}

async function readList(place: string): Promise<string> {
  if (!/^https?:\/\//.test(place)) return readFile('--list', place)
  const response = await fetch(place).catch(() => undefined)
  if (!response?.ok)
    throw new UserError(`--list: ${place} cannot be had (${response?.status ?? 'no answer'}).`)
  return response.text()
}

function readInside(values: {
  admin?: string[]
  'password-file'?: string
  'token-file'?: string
}): Inside | undefined {
  const { admin: urls, 'password-file': passwordFile, 'token-file': tokenFile } = values
  const secret = tokenFile ?? passwordFile
  if (urls === undefined && secret === undefined) return undefined
  if (urls === undefined)
    throw new UserError(
      'a secret opens admin ports: name each tunnel\'s with --admin, like http://127.0.0.1:9091; README says where they are ("Is it deployed right?").',
    )
  if (secret === undefined || (tokenFile && passwordFile))
    throw new UserError('--admin goes with one of --password-file and --token-file.')
  const wrong = urls.find((url) => !/^https?:\/\/[^/]+\/?$/.test(url) || !URL.canParse(url))
  if (wrong !== undefined)
    throw new UserError(`--admin: "${wrong}" is not an admin port; write one like http://127.0.0.1:9091.`)
  const token = tokenFile
    ? readFile('--token-file', tokenFile)
    : deriveAdminToken(readFile('--password-file', secret))
  return { urls: urls.map((url) => new URL(url).origin), token }
}

function readFile(flag: string, file: string): string {
  try {
    const bytes = readFileSync(file)
    return String(bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).trim()
  } catch {
    throw new UserError(`${flag}: "${file}" cannot be read.`)
  }
}
