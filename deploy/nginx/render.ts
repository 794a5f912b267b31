/** Renders nginx's configuration: the template `nginx.conf` with its includes, the values of the settings and the rejections. */

import { execFileSync } from 'node:child_process'
import { getServers } from 'node:dns'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { hostOf, isLocal, leadsTo, portOf } from 'contract/addresses'
import { CATEGORY_NAMES } from 'contract/categories'
import { derivedPaths, INBOX } from 'contract/dsn'
import { findOwnDsns } from 'contract/own-dsns'
import { BURST_SECONDS, formatRateLimits, THROTTLE_SECONDS } from 'contract/rate-limits'
import { REJECTIONS, Rejection, type RejectionCode, rejectionBody } from 'contract/rejections'
import type { Environment } from 'contract/settings'
import { readPageSettings, readSharedSettings, SettingsReader } from 'contract/settings-reader'

const ROOT = join(import.meta.dirname, '../..')

/** Template `nginx.conf`, with the files that it includes in place. */
export type NginxTemplate = {
  text: string
  /** HTML page that nginx sends while web is unavailable. */
  unavailablePage: string
}

export type NginxConfig = ReturnType<typeof readNginxConfig> & {
  /** User and group of nginx's workers, where nginx runs as root. */
  user?: string | undefined
}

/** Cause of a 429 by nginx. */
const TOO_MUCH =
  'This client address exceeds the request rate or the number of concurrent requests that nginx allows.'

/** Limits of nginx are this many times those of a tunnel: the tunnel's response says which categories to hold back. */
const LIMIT_FACTOR = 4

/** Reads what nginx has to know. Appends each problem to `problems`; a configuration with problems must not be used. */
export function readNginxConfig(env: Environment, problems: string[]) {
  const settings = new SettingsReader(env, problems)
  const dsns = settings.read('SENTRY_DSN')
  const { derivedPaths: hasDerivedPaths, tunnelPaths, ...shared } = readSharedSettings(settings)
  const tunnels = settings.read('TUNNELS')
  const web = settings.read('WEB')
  const derived = hasDerivedPaths ? (dsns.length > 0 ? dsns : [INBOX]).flatMap(derivedPaths) : []
  const config = {
    ...shared,
    app: readPageSettings(settings).app,
    tunnelPaths,
    /** Paths that SDKs derive from the DSNs. They may stand below a base path (`tunnel: { basePath }`). */
    derivedPaths: [...new Set(derived)],
    allowedHosts: settings.read('ALLOWED_HOSTS'),
    addressRate: settings.read('ADDRESS_RATE'),
    clientAddress: settings.read('CLIENT_ADDRESS'),
    ...readListeners(settings),
    tlsFolder: settings.read('TLS_FOLDER'),
    tunnels,
    web,
    /** Name server that is asked again and again; absent where tunnels and web are addresses. */
    resolver: [...tunnels, ...web].some(isName) ? systemResolver() : undefined,
  }
  if (config.listenTls.length > 0 && !config.tlsFolder)
    problems.push('LISTEN: HTTPS needs a certificate; set TLS_FOLDER, too')
  problems.push(...addressProblems(config))
  problems.push(...findOwnDsns(dsns, [...config.listen, ...config.listenTls, ...config.innerListen]))
  return config
}

const DEFAULT_INNER = '127.0.0.1:8081'

function readListeners(settings: SettingsReader) {
  const given = settings.read('LISTEN')
  const ending = (end: string) =>
    given.filter((address) => address.endsWith(end)).map((address) => address.slice(0, -end.length))
  const inner = ending('/inner')
  const innerListen = inner.length > 0 ? inner : [DEFAULT_INNER]
  const second = innerListen.find((address) => portOf(address) !== portOf(innerListen[0] ?? ''))
  if (second)
    settings.problems.push(`LISTEN: "${second}/inner" is a second inner listener; write only one port`)
  return {
    listen: given.filter((address) => !address.includes('/')),
    innerListen,
    listenTls: ending('/tls'),
    /** Listeners that send visitors to HTTPS. */
    listenRedirect: ending('/redirect'),
  }
}

/** Returns the problems with addresses that exclude each other. */
function addressProblems({ app, innerListen, listen, listenTls, listenRedirect }: NginxConfig): string[] {
  const problems: string[] = []
  const [inner = ''] = innerListen
  const published = [...listen, ...listenTls, ...listenRedirect]
  if (published.some((address) => portOf(address) === portOf(inner)))
    problems.push(
      `LISTEN: the port of ${inner}/inner is that of another listener; requests on it have no client address, so choose another`,
    )
  if (app && [...published, ...innerListen].some((address) => leadsTo(app, address)))
    problems.push(
      `APP_URL: nginx itself listens at http://${app}; write the address of your app, or choose another port for nginx`,
    )
  return problems
}

function isName(authority: string): boolean {
  return !isLocal(authority) && isIP(hostOf(authority).replace(/[[\]]/g, '')) === 0
}

/** Returns the address of the system's name server as nginx writes it. */
function systemResolver(): string {
  const [address = ''] = getServers()
  return isIPv6(address) ? `[${address}]` : address
}

/** Returns user and group of this process where it is root: nginx's workers have to reach its folders. */
function workerUser(): string | undefined {
  if (process.getuid?.() !== 0) return undefined
  const ask = (flag: string) => execFileSync('id', [flag], { encoding: 'utf8' }).trim()
  return `${ask('-un')} ${ask('-gn')}`
}

const PLACEHOLDER = /@([A-Z0-9_]+)@/g
const CONDITION = / # if ([A-Z_]+)(: |$)/

/**
 * Fills a template. A line that holds `@NAME@` is written once for each value that NAME has: no value, no line. A line that ends with the comment
 * `# if NAME` is written only if NAME has a value. If such a line opens a block, this applies to the block.
 */
export function renderNginx({ text, unavailablePage }: NginxTemplate, config: NginxConfig): string {
  const values: Values = {
    ...valuesOf(config),
    ...RESPONSES,
    UNAVAILABLE_PAGE: [quote(unavailablePage)],
  }
  return renderLines(text.split('\n'), values).join('\n')
}

function renderLines(lines: readonly string[], values: Values): string[] {
  const rendered: string[] = []
  for (let start = 0, end = 0; start < lines.length; start = end) {
    const line = lines[start] ?? ''
    end = OPENING.test(line) ? endOfBlock(lines, start) : start + 1
    const block = renderLines(lines.slice(start + 1, end), values)
    for (const text of renderLine(line, values)) rendered.push(text, ...block)
  }
  return rendered
}

/** Returns a line for each value of the name in it. Throws for a line with two names, since no value of one belongs to a value of the other. */
function renderLine(line: string, values: Values): string[] {
  const [comment = '', condition, end] = CONDITION.exec(line) ?? []
  if (condition !== undefined && valuesFor(condition, values).length === 0) return []
  const text = line.replace(comment, end ? ' # ' : '')
  const [name, ...others] = new Set(Array.from(text.matchAll(PLACEHOLDER), ([, each = '']) => each))
  if (others.length > 0) throw new Error(`nginx.conf: "${line.trim()}" has more than one name`)
  return name === undefined
    ? [text]
    : valuesFor(name, values).map((value) => text.replaceAll(`@${name}@`, () => value))
}

function valuesFor(name: string, values: Values): readonly string[] {
  const known = values[name]
  if (!known) throw new Error(`nginx.conf: ${name} is no value`)
  return known
}

/** Matches a line that opens a block. */
const OPENING = /\{( #.*)?$/

/** Returns the index after the closing brace, which is indented as the first line of the block. Throws without one. */
function endOfBlock(lines: readonly string[], start: number): number {
  const line = lines[start] ?? ''
  const [indentation = ''] = /^ */.exec(line) ?? []
  const end = lines.indexOf(`${indentation}}`, start)
  if (end === -1) throw new Error(`nginx.conf: "${line.trim()}" opens a block without a closing brace`)
  return end + 1
}

/** Values of each name in the template. */
type Values = { readonly [name: string]: readonly string[] }

function valuesOf(config: NginxConfig): Values {
  const addressRate = config.addressRate * LIMIT_FACTOR
  const server = (authority: string) => (config.resolver ? `${authority} resolve` : authority)
  /** With a name server, nginx is 1.27.4 or newer. */
  const isNew = config.resolver !== undefined && config.listenTls.length > 0
  return {
    TUNNEL_PATHS: [
      [
        ...config.tunnelPaths.map((path) => path.replaceAll('.', '\\.')),
        ...config.derivedPaths.map((path) => `(?:/[\\w.~%-]+)*${path}`),
      ].join('|'),
    ],
    ALLOWED_HOSTS: config.allowedHosts,
    TRUSTED_PROXIES: config.trustedProxies,
    MAX_ENVELOPE_BYTES: [String(config.maxEnvelopeBytes)],
    ADDRESS_RATE: addressRate > 0 ? [String(addressRate)] : [],
    ADDRESS_BURST: addressRate > 0 ? [String(addressRate * BURST_SECONDS)] : [],
    LOGGED_CLIENT: [{ forward: '$remote_addr', truncate: '$network', omit: '' }[config.clientAddress]],
    NETWORK_ADDRESS: config.clientAddress === 'truncate' ? ['truncate'] : [],
    // nginx adds the client address to messages about requests. It logs those of other levels only while CLIENT_ADDRESS allows addresses.
    ERROR_LEVEL: [config.clientAddress === 'forward' ? 'crit' : 'emerg'],
    LISTEN: config.listen,
    INNER_LISTEN: config.innerListen,
    INNER_PORT: [String(portOf(config.innerListen[0] ?? ''))],
    LISTEN_TLS: config.listenTls,
    LISTEN_REDIRECT: config.listenRedirect,
    // Without HTTPS, nginx would load the certificates all the same, and not start without them.
    TLS_FOLDER:
      config.listenTls.length > 0
        ? listOf(config.tlsFolder && `${config.tlsFolder}${isNew ? '$renewed' : ''}`)
        : [],
    RENEWAL: isNew ? ['on'] : [],
    TUNNELS: config.tunnels.map(server),
    WEB: config.web.map(server),
    // A variable in proxy_pass is looked up for each request. Without a name server it names the upstream.
    TUNNEL_RETRY: [nameToLookUp(config, config.tunnels) ?? 'tunnel'],
    WEB_RETRY: [nameToLookUp(config, config.web) ?? 'web'],
    ...pageValues(config, server),
    RESOLVER: listOf(config.resolver),
    NGINX_USER: listOf(config.user),
  }
}

/** Returns the only address of an upstream if there is a name server. Several names cannot be looked up for one request. */
function nameToLookUp({ resolver }: NginxConfig, [only, ...others]: readonly string[]): string | undefined {
  return resolver && others.length === 0 ? only : undefined
}

/** Values that divide the paths between web and the app. Without an app, web gets all of them. */
function pageValues(config: NginxConfig, server: (authority: string) => string): Values {
  const { app } = config
  if (!app) return { APP: [], APP_AWAY: [], WEB_PATHS: ['/'] }
  return {
    APP: [server(app)],
    APP_AWAY: [describeAppAway(app)],
    WEB_PATHS: ['~ ^/(console|lab)(/|\\z)'],
  }
}

/** Says that the app does not respond, and what to do. Without quotes, backslashes and $, which nginx would interpret. */
function describeAppAway(app: string): string {
  const other = hostOf(app) === '[::1]' ? '127.0.0.1' : '[::1]'
  const hint = isLocal(app)
    ? `A dev server such as Vite may listen on ${other} only: then set APP_URL=http://${other}:${portOf(app)}.`
    : 'In a container it has to listen on 0.0.0.0, not on 127.0.0.1.'
  return `Your app does not respond at http://${app} (APP_URL). Start it there, or correct APP_URL in .env. ${hint}`
}

/** Status and body of each rejection as arguments of nginx's `return`, named after its code: `TUNNEL_AWAY`. */
const RESPONSES: Values = {
  ...Object.fromEntries(Object.keys(REJECTIONS).map((code) => rejectionEntry(code as RejectionCode))),
  RATE_LIMITS: [formatRateLimits([{ seconds: THROTTLE_SECONDS, categories: [...CATEGORY_NAMES] }], 'nginx')],
}

function rejectionEntry(code: RejectionCode): [string, string[]] {
  const causes = code === 'throttled' ? [TOO_MUCH] : []
  const body = rejectionBody(new Rejection(code, ...causes), '$request_id')
  return [code.toUpperCase().replaceAll('-', '_'), [`${REJECTIONS[code].status} ${quote(body)}`]]
}

/** Quotes an argument of a directive. nginx has no escape for `$`. */
function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

function listOf(value: string | undefined): string[] {
  return value ? [value] : []
}

/** Reads the template and puts the files that it includes in the place of their lines. */
export function readNginxTemplate(): NginxTemplate {
  const page = readFileSync(join(ROOT, 'deploy/nginx/unavailable.html'), 'utf8')
  return { text: readWithIncludes('nginx.conf'), unavailablePage: page.replaceAll(/\n\s*/g, '') }
}

function readWithIncludes(path: string): string {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return text.replaceAll(/^( *)include (deploy\/nginx\/.+);$/gm, (_, indent: string, included: string) =>
    readWithIncludes(included)
      .trimEnd()
      .replaceAll(/^(?=.)/gm, indent),
  )
}

/** Returns nginx's configuration, for a start by this user. Appends the problems with the settings; with any, the text is empty. */
export function renderNginxFor(env: Environment, problems: string[]): string {
  const config = readNginxConfig(env, problems)
  if (problems.length > 0) return ''
  const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
    list?.some(({ family }) => family === 'IPv6'),
  )
  return renderNginx(readNginxTemplate(), { ...config, ...listenersFor(config, hasIpv6), user: workerUser() })
}

/** Returns the listeners of a machine. Without IPv6 nginx could not listen on `[::]:8080`, and `8080` beside it is enough. */
export function listenersFor(
  { listen, innerListen, listenTls, listenRedirect }: NginxConfig,
  hasIpv6: boolean,
) {
  const available = (list: string[]) =>
    list.filter((address) => hasIpv6 || !address.startsWith('[::]:') || !list.includes(`${portOf(address)}`))
  return {
    listen: available(listen),
    innerListen: available(innerListen),
    listenTls: available(listenTls),
    listenRedirect: available(listenRedirect),
  }
}

/** Renders the template into a file for nginx. Returns the problems with the settings; with any, the file stays as it is. */
export function writeNginxConfig(env: Environment, file: string): string[] {
  const problems: string[] = []
  const text = renderNginxFor(env, problems)
  if (problems.length > 0) return problems
  const partial = `${file}.new`
  writeFileSync(partial, text)
  renameSync(partial, file)
  return []
}
