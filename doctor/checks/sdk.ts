/** Checks that browsers get the SDK as the tunnel serves it: type, content, caching, and origins that may load it. */

import { createHash } from 'node:crypto'
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { REJECTIONS } from 'contract/rejections'
import { type Check, type Finding, failWith, pass, warnWith, withAdmin } from '../check.ts'
import { allowedOrigins, type Deployment } from '../deployment.ts'
import { type HttpResponse, jsonOf, type RequestOptions, send, sendIfUp, summarize } from '../request.ts'
import { FOREIGN_ORIGIN } from './foreign-requests.ts'

const COMPRESSED = { 'accept-encoding': 'gzip, deflate, br, zstd' }
const PLAIN = { 'accept-encoding': 'identity' }
const UNKNOWN_PROJECT = '18446744073709551557' // the largest prime below 2^64

const LOADER_SECONDS = 300
const LOADER_STALE_SECONDS = 3600
const BUNDLE_SECONDS = 24 * 3600

/** File of a bundle and its integrity, as the loader and the bundles name them. */
const REFERENCE = /\[["`]([a-z]+-[0-9a-f]{16}\.js)["`],["`](sha384-[\w+/=]+)["`]\]/g

const ROUTE =
  'Let the proxy route sdk.js and everything below sdk/ as it routes the tunnel path: see docs/proxies.md.'
const REWRITE =
  'Switch off the minifying, rewriting and injecting of scripts in the proxy or CDN below the tunnel path.'
const ENCODINGS =
  'Let the cache of the proxy or CDN keep one copy for each Accept-Encoding (Vary), or pass these paths on without caching them.'

const load = ({ site, path }: Deployment, file: string, headers: RequestOptions['headers'] = COMPRESSED) =>
  send(`${site}${path}/${file}`, { headers })

export const sdk: Check = {
  name: 'sdk',
  after: ['tunnel', 'error'],
  title: 'Browsers get the loader of the SDK',
  verifies: 'sdk.js below the tunnel path is unmodified JavaScript that browsers keep for five minutes.',
  remedy: ROUTE,
  async run(deployment) {
    const response = await load(deployment, 'sdk.js')
    const problem =
      describeTransfer('sdk.js', response) ?? describeLoaderCache(response) ?? describeLoader(response)
    return problem ?? pass(`${response.status}, ${response.bytes.length} bytes.`)
  },
}

export const sdkBundles: Check = {
  name: 'sdk-bundles',
  after: ['sdk'],
  title: 'Browsers get the bundles of the SDK',
  verifies:
    'The files that sdk.js and its bundles name have the content that is announced, with and without compression.',
  remedy: ROUTE,
  async run(deployment) {
    const references = referencesIn(await load(deployment, 'sdk.js'))
    // The loop adds the bundles that are loaded after the page.
    for (const [file, integrity] of references)
      for (const encodings of [COMPRESSED, PLAIN]) {
        const response = await load(deployment, `sdk/${file}`, encodings)
        const problem =
          describeTransfer(file, response) ??
          describeEncoding(file, response, encodings) ??
          describeBundle(file, integrity, response)
        if (problem) return problem
        for (const [addOn, hash] of referencesIn(response)) references.set(addOn, hash)
      }
    return pass(`${[...references.keys()].join(', ')} have the content that is announced.`)
  },
}

export const sdkPaths: Check = {
  name: 'sdk-paths',
  after: ['sdk', 'sdk-bundles'],
  title: 'Every tunnel path serves the SDK',
  verifies: 'sdk.js and its bundles are below the other paths in TUNNEL_PATHS, too.',
  remedy: ROUTE,
  run: withAdmin(async (admin, deployment) => {
    const [status] = await admin.statuses()
    const all = status?.settings.TUNNEL_PATHS?.match(/\/[\w./-]+/g) ?? []
    const paths = all.filter((path) => path !== deployment.path)
    for (const path of paths) {
      const loader = await load({ ...deployment, path }, 'sdk.js')
      const problem = describeTransfer(`${path}/sdk.js`, loader) ?? describeLoader(loader)
      if (problem) return problem
      for (const [file, integrity] of referencesIn(loader)) {
        const bundle = await load({ ...deployment, path }, `sdk/${file}`)
        const name = `${path}/sdk/${file}`
        const problem = describeTransfer(name, bundle) ?? describeBundle(name, integrity, bundle)
        if (problem) return problem
      }
    }
    return pass(`${[deployment.path, ...paths].join(', ')}: all serve it.`)
  }),
}

/** Returns the URLs below the tunnel path from which browsers load the SDK, with the names of this release where it can be loaded. */
export async function sdkFiles(deployment: Deployment): Promise<string[]> {
  const loader = await sendIfUp(`${deployment.site}${deployment.path}/sdk.js`)
  const files = loader?.status === 200 ? referencesIn(loader) : new Map<string, string>()
  for (const [file] of files) {
    const bundle = await sendIfUp(`${deployment.site}${deployment.path}/sdk/${file}`)
    for (const [addOn, integrity] of bundle ? referencesIn(bundle) : []) files.set(addOn, integrity)
  }
  const plain = ['errors', 'tracing', 'replay', 'feedback'].map((name) => `${name}.js`)
  return ['sdk.js', ...[...plain, ...files.keys()].map((file) => `sdk/${file}`)]
}

/** Returns the integrity of each bundle that a script names. */
function referencesIn(response: HttpResponse): Map<string, string> {
  const script = decode(response)?.toString() ?? ''
  return new Map(Array.from(script.matchAll(REFERENCE), ([, file = '', integrity = '']) => [file, integrity]))
}

export const sdkProject: Check = {
  name: 'sdk-project',
  after: ['sdk'],
  title: 'The query of sdk.js chooses the project',
  verifies: 'sdk.js of an unknown project is 404, so that no page reports to another project.',
  remedy: 'Let the proxy pass the query and the status on unmodified.',
  async run(deployment) {
    const response = await load(deployment, `sdk.js?p=${UNKNOWN_PROJECT}`)
    if (response.status === 200)
      return failWith(
        'sdk.js of an unknown project is that of another one: the proxy ignores or removes the query.',
        'Let the proxy pass the query on, and let its cache keep one copy for each query.',
      )
    const { code } = jsonOf(response)
    return response.status === 404 && code === 'project-unknown'
      ? pass('404 project-unknown.')
      : failWith(
          `An unknown project is answered with ${summarize(response)} instead of 404.`,
          'Let the proxy pass the status of the tunnel on, error pages of its own switched off.',
        )
  },
}

export const sdkOrigin: Check = {
  name: 'sdk-origin',
  after: ['sdk', 'sdk-project'],
  title: 'Pages of ALLOWED_ORIGINS may load the SDK, others not',
  verifies: 'Only pages of this site and of ALLOWED_ORIGINS can run the SDK with integrity.',
  remedy: 'Let the proxy pass Origin and Access-Control-Allow-Origin on unmodified.',
  async run(deployment) {
    const foreign = await load(deployment, 'sdk.js', { ...COMPRESSED, origin: FOREIGN_ORIGIN })
    const granted = foreign.headers['access-control-allow-origin']
    if (granted !== undefined)
      return failWith(
        `A page of ${FOREIGN_ORIGIN} gets access-control-allow-origin: ${granted}.`,
        'Let the proxy add no Access-Control-Allow-Origin of its own, and let its cache keep one copy for each Origin (Vary).',
      )
    const [origin] = await allowedOrigins(deployment)
    if (origin === undefined) return pass('A page of another site is not allowed.')
    const { headers } = await load(deployment, 'sdk.js', { ...COMPRESSED, origin })
    return headers['access-control-allow-origin'] === origin
      ? pass(`A page of ${origin} is allowed, and one of another site is not.`)
      : failWith(
          `A page of ${origin}, which is in ALLOWED_ORIGINS, is not allowed.`,
          'Let the proxy pass Origin and Access-Control-Allow-Origin on, and let its cache keep one copy for each Origin (Vary).',
        )
  },
}

/** Returns the problem of a response that is not a script of the tunnel. */
function describeTransfer(file: string, response: HttpResponse): Finding | undefined {
  const { status, headers } = response
  const { code } = jsonOf(response)
  if (code === 'sdk-missing')
    return failWith('The tunnel responds with 503 sdk-missing.', REJECTIONS[code].fix)
  if (code === 'sdk-file-unknown')
    return failWith(
      `No tunnel has ${file}, which sdk.js names: a cache keeps sdk.js for too long.`,
      'Purge sdk.js in the cache of the proxy or CDN, and let it obey Cache-Control. Otherwise end the deployment that replaces the tunnels.',
    )
  if (headers.location !== undefined)
    return failWith(`${file} redirects (${status}) to ${headers.location}.`, ROUTE)
  if (status !== 200) return failWith(`${file} responds with ${summarize(response)}.`, ROUTE)
  const type = headers['content-type'] ?? 'no type'
  if (/html/.test(type)) return failWith(`${file} responds with a page (${type}).`, ROUTE)
  if (!/^(text|application)\/javascript\b/.test(type))
    return failWith(`${file} has ${type} instead of text/javascript.`, 'Let the proxy pass Content-Type on.')
  if (headers['x-content-type-options'] !== 'nosniff')
    return failWith(
      `The header x-content-type-options of ${file} is missing.`,
      'Let the proxy pass X-Content-Type-Options on.',
    )
  return undefined
}

/** Returns the problem of a cache that keeps the loader of an earlier release, or none. */
function describeLoaderCache({ headers }: HttpResponse): Finding | undefined {
  const seconds = maxAgeOf(headers['cache-control'])
  const age = Number(headers.age ?? 0)
  if (seconds !== LOADER_SECONDS)
    return failWith(
      `Browsers keep sdk.js for ${seconds} s instead of ${LOADER_SECONDS} s: the proxy changes Cache-Control to “${headers['cache-control'] ?? ''}”.`,
      'Let the proxy or CDN pass Cache-Control on (“respect existing headers”).',
    )
  if (age > LOADER_SECONDS + LOADER_STALE_SECONDS)
    return failWith(
      `sdk.js comes from a cache that has kept it for ${age} s.`,
      'Let the proxy or CDN obey Cache-Control, and purge sdk.js there.',
    )
  return undefined
}

/** Returns the problem of a loader that is not as its ETag says, or that names no bundle. */
function describeLoader(response: HttpResponse): Finding | undefined {
  const script = decode(response)
  const [, hash] = /^(?:W\/)?"([0-9a-f]{32})-/.exec(response.headers.etag ?? '') ?? []
  const actual = script && createHash('sha256').update(script).digest('hex').slice(0, 32)
  const isModified = hash !== undefined && hash !== actual
  return isModified || !script?.toString().match(REFERENCE)
    ? failWith('The proxy modifies sdk.js.', REWRITE)
    : undefined
}

function describeEncoding(file: string, { headers }: HttpResponse, wanted: object): Finding | undefined {
  const encoding = headers['content-encoding'] ?? 'identity'
  return wanted === PLAIN && encoding !== 'identity'
    ? failWith(`A client that accepts no compression gets ${file} with ${encoding}.`, ENCODINGS)
    : undefined
}

function describeBundle(file: string, integrity: string, response: HttpResponse): Finding | undefined {
  const script = decode(response)
  if (!script || `sha384-${createHash('sha384').update(script).digest('base64')}` !== integrity)
    return failWith(
      `The content of ${file} is not the one that sdk.js announces, so that browsers do not run it.`,
      REWRITE,
    )
  const { 'cache-control': cache } = response.headers
  if (maxAgeOf(cache) < BUNDLE_SECONDS)
    return warnWith(
      `Browsers load ${file} again and again: the proxy changes Cache-Control to “${cache ?? ''}”.`,
      'Let the proxy or CDN pass Cache-Control on (“respect existing headers”).',
    )
  return undefined
}

/** Returns the time in seconds for which a browser keeps a response. */
function maxAgeOf(cacheControl = ''): number {
  if (/no-store|no-cache/.test(cacheControl)) return 0
  return Number(/\bmax-age=(\d+)/.exec(cacheControl)?.[1] ?? 0)
}

/** Returns the body without its content encoding; `undefined` when it does not have it. */
function decode({ headers, bytes }: HttpResponse): Buffer | undefined {
  try {
    switch (headers['content-encoding']) {
      case undefined:
      case 'identity':
        return bytes
      case 'br':
        return brotliDecompressSync(bytes)
      case 'gzip':
        return gunzipSync(bytes)
      case 'deflate':
        return inflateSync(bytes)
      case 'zstd':
        return zstdDecompressSync(bytes)
      default:
        return undefined
    }
  } catch {
    return undefined
  }
}
