/** Reads the arguments of the doctor. */

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { isLocal } from 'contract/addresses'
import { deriveAdminToken, readAdminToken } from 'contract/admin-token'
import { type Dsn, parseDsn } from 'contract/dsn'
import type { Environment } from 'contract/settings'
import { SettingsReader } from 'contract/settings-reader'
import { findAdminPorts } from './local-admin-ports.ts'

export type Options = {
  /** Public address: scheme, host and port. */
  site: string
  /** Tunnel path; `undefined`: the page names it. */
  path: string | undefined
  dsn: Dsn | undefined
  /** Ad-block lists, as text. */
  filterLists: string[]
  /** Ports of the site's host that must be unreachable from outside. */
  closedPorts: number[]
  admin: AdminAccess | undefined
  /** Settings of a Culvert on this machine. */
  env: Environment
  json: boolean
}

/** URLs of the tunnels' admin ports, and the token that they accept. */
export type AdminAccess = { urls: string[]; token: string }

/** Error in the arguments; the message is a sentence. */
export class UsageError extends Error {}

const USAGE = `npm run doctor -- https://site.example [flags]
  --path PATH            tunnel path; needed if the start page is not Culvert's. Default: the path in the page, or /monitoring
  --dsn DSN              DSN that the tunnel accepts; needed if the start page is not Culvert's
  --list FILE|URL        ad-block list to match the path against; may be repeated
  --closed PORTS         ports of the host that must be unreachable (9090,9091; none for 127.0.0.1)
  --admin URL            admin port of a tunnel, like http://127.0.0.1:9091; may be repeated. All addresses of a name are used.
                         Without it, --password-file and --token-file find the tunnels that npm start or Compose runs here
  --password-file [FILE] file with the value of OPERATOR_PASSWORD; without FILE that of the settings (.env, or made by npm start)
  --token-file FILE      file with the admin token instead, where ADMIN_TOKEN is set
  --json                 prints JSON. Exit code: 0 no check failed, 1 a check failed, 2 the checks could not run`

/** Reads the arguments, or returns the usage for --help. `env` holds the settings of a Culvert on this machine. Throws a `UsageError`. */
export async function readOptions(args: string[], env: Environment): Promise<Options | { usage: string }> {
  const { values, positionals } = parse(args)
  if (values.help) return { usage: USAGE }
  const [site, ...rest] = positionals
  if (site === undefined || rest.length > 0) throw new UsageError(`name one site.\n${USAGE}`)
  return {
    site: readSite(site),
    path: readPath(values.path),
    dsn: readDsn(values.dsn),
    filterLists: await Promise.all((values.list ?? []).map(readList)),
    closedPorts: values.closed?.split(',').map(readPort) ?? defaultClosedPorts(readSite(site)),
    admin: readAdmin(values, env),
    env,
    json: values.json ?? false,
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args: withPasswordFile(args),
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
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${USAGE}`)
  }
}

/** Completes `--password-file` without a file, which `parseArgs` cannot express. */
function withPasswordFile(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    const next = args[index + 1] ?? '--'
    const isAlone = arg === '--password-file' && (next.startsWith('--') || /^https?:/.test(next))
    return isAlone ? [`${arg}=`] : [arg]
  })
}

function readSite(given: string): string {
  const url = URL.parse(given)
  if (url && /^https?:$/.test(url.protocol) && url.pathname === '/' && !url.search && !url.username)
    return url.origin
  throw new UsageError(
    `"${given}" is not a site; write its address like https://site.example, without a path.`,
  )
}

function readPath(given: string | undefined): string | undefined {
  if (given === undefined || /^(\/[\w-]+)+$/.test(given)) return given
  throw new UsageError(`--path: "${given}" is not a path; write one like /monitoring.`)
}

function readDsn(given: string | undefined): Dsn | undefined {
  if (given === undefined) return undefined
  const dsn = parseDsn(given)
  if (!dsn) throw new UsageError('--dsn: this is not a DSN; write it as Sentry shows it.')
  return dsn
}

/** Returns the ports of a tunnel. On this machine itself they are open without being published. */
function defaultClosedPorts(site: string): number[] {
  return isLocal(new URL(site).host) ? [] : [9090, 9091]
}

function readPort(given: string): number {
  const port = Number(given)
  if (Number.isInteger(port) && port > 0 && port < 65536) return port
  throw new UsageError(`--closed: "${given}" is not a port; write some like 9090,9091.`)
}

async function readList(location: string): Promise<string> {
  if (!/^https?:\/\//.test(location)) return readFile('--list', location)
  const response = await fetch(location).catch(() => undefined)
  if (!response?.ok)
    throw new UsageError(`--list: ${location} cannot be loaded (${response?.status ?? 'no response'}).`)
  return response.text()
}

/** Flags that name admin ports, and a file with their secret. */
type AccessFlags = { admin?: string[]; 'password-file'?: string; 'token-file'?: string }

function readAdmin(flags: AccessFlags, env: Environment): AdminAccess | undefined {
  const secret = flags['token-file'] ?? flags['password-file']
  if (flags.admin === undefined && secret === undefined) return undefined
  if (secret === undefined) throw new UsageError('--admin needs one of --password-file and --token-file.')
  return readAccess(flags, env)
}

/** Finds the admin ports of this machine if none is named, and reads the secret from the settings if no file is named. Throws a `UsageError`. */
export function readAccess(flags: AccessFlags, env: Environment): AdminAccess {
  const { admin, 'password-file': passwordFile, 'token-file': tokenFile } = flags
  const urls = admin ?? findAdminPorts()
  if (urls.length === 0)
    throw new UsageError(
      'neither npm start nor Compose runs a tunnel here: name the admin port of each tunnel with --admin, like http://127.0.0.1:9091. docs/api.md says where it is.',
    )
  if (tokenFile && passwordFile) throw new UsageError('write one of --password-file and --token-file.')
  const wrong = urls.find((url) => !/^https?:\/\/[^/]+\/?$/.test(url) || !URL.canParse(url))
  if (wrong !== undefined)
    throw new UsageError(`--admin: "${wrong}" is not an admin port; write one like http://127.0.0.1:9091.`)
  const token = tokenFile
    ? readFile('--token-file', tokenFile)
    : passwordFile
      ? deriveAdminToken(readFile('--password-file', passwordFile))
      : readAdminToken(new SettingsReader(env, []))
  if (token === undefined)
    throw new UsageError(
      'the settings have no OPERATOR_PASSWORD; name the file that holds the password of these tunnels with --password-file, or --token-file.',
    )
  return { urls: urls.map((url) => new URL(url).origin), token }
}

function readFile(flag: string, file: string): string {
  try {
    const bytes = readFileSync(file)
    return String(bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).trim()
  } catch {
    throw new UsageError(`${flag}: "${file}" cannot be read.`)
  }
}
