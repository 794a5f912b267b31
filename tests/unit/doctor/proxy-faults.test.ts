/** Faults of a proxy in front of a tunnel without nginx: what the doctor finds, and what the console shows. */

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import { runChecks } from '../../../doctor/check.ts'
import { bodyTooLarge, compression, error, largeBody, replay } from '../../../doctor/checks/bodies.ts'
import { crossOrigin, foreignOrigin, otherQuery } from '../../../doctor/checks/foreign-requests.ts'
import { adminPort } from '../../../doctor/checks/ports.ts'
import { proxy } from '../../../doctor/checks/proxy.ts'
import {
  clientAddress,
  credentials,
  delivery,
  proxyHeaders,
  tunnelState,
} from '../../../doctor/checks/replicas.ts'
import { burst, headers as headersCheck, rateLimits } from '../../../doctor/checks/responses.ts'
import { page, tunnel as tunnelPath } from '../../../doctor/checks/routes.ts'
import { openDeployment } from '../../../doctor/deployment.ts'
import { listFindings } from '../../../doctor/report.ts'
import { listen } from '../../support/listen.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const FRIEND = 'https://shop.example'
const MEGABYTE = 1_000_000
const GIB = 2 ** 30
const CHECKS = [
  ...[proxy, page, tunnelPath, error, replay, compression, largeBody, bodyTooLarge, otherQuery],
  ...[foreignOrigin, crossOrigin, adminPort, clientAddress, credentials, proxyHeaders, delivery],
  ...[tunnelState, burst, rateLimits, headersCheck],
]

type Headers = IncomingHttpHeaders

/** Fault of a proxy: its changes to what it passes on. */
type Fault = {
  url?: (url: string) => string
  headers?: (headers: Headers, given: Headers) => Headers
  /** Replaces the body; the proxy reads all of it before. */
  body?: (body: Buffer) => Buffer
  /** Answers without the tunnel, when it returns `true`. */
  answer?: (incoming: IncomingMessage, response: ServerResponse) => boolean
  response?: (headers: Headers) => Headers
  /** Changes the status of responses to posts. */
  status?: (status: number) => number
}

/** Passes a request on to `url`: streams bodies, and replaces the address and removes other headers that a visitor must not set. */
async function forward(url: string, incoming: IncomingMessage, response: ServerResponse, fault: Fault) {
  const own: Headers = { ...incoming.headers, 'x-forwarded-for': incoming.socket.remoteAddress }
  for (const name of ['cookie', 'authorization', 'x-request-id', 'x-culvert-retry']) delete own[name]
  const headers = fault.headers?.(own, incoming.headers) ?? own
  const path = fault.url?.(incoming.url ?? '') ?? incoming.url
  const method = incoming.method ?? 'GET'
  if (fault.answer?.(incoming, response)) return
  if (fault.body) delete headers['content-length']
  // The doctor announces a body of 1 GiB and sends none of it. Real proxies wait longer.
  if (fault.body && Number(incoming.headers['content-length']) > GIB) return response.destroy()
  const received = fault.body && (await buffer(incoming))
  const body = received && fault.body?.(received)
  const outgoing = request(`${url}${path}`, { method, headers })
  outgoing.on('error', () => response.destroy())
  response.on('close', () => outgoing.destroy())
  outgoing.on('response', (answer) => {
    const status = answer.statusCode ?? 0
    const told = method === 'POST' ? (fault.status?.(status) ?? status) : status
    response.writeHead(told, fault.response?.(answer.headers) ?? answer.headers)
    answer.pipe(response)
  })
  if (body) outgoing.end(body)
  else {
    outgoing.flushHeaders()
    incoming.pipe(outgoing)
  }
}

/** Answers posts without the tunnel, the first `many` excepted. */
function answerPosts(status: number, headers: Record<string, string> = {}, many = 0): Fault {
  let posts = 0
  return {
    answer(incoming, response) {
      const isOwn = incoming.method === 'POST' && posts++ >= many
      if (isOwn) response.writeHead(status, headers).end()
      return isOwn
    },
  }
}

function limitBodies(maxBytes: number): Fault {
  return {
    answer(incoming, response) {
      const isTooLarge = Number(incoming.headers['content-length'] ?? 0) > maxBytes
      if (isTooLarge) response.writeHead(413, { 'content-type': 'text/html' }).end('too large')
      return isTooLarge
    },
  }
}

async function startProxy(url: string, fault: Fault) {
  const server = createServer((incoming, response) => {
    forward(url, incoming, response, fault).catch(() => response.destroy())
  })
  server.on('checkContinue', (incoming, response) => {
    if (fault.answer?.(incoming, response)) return
    delete incoming.headers.expect
    response.writeContinue()
    forward(url, incoming, response, fault).catch(() => response.destroy())
  })
  return listen(server)
}

describe('A proxy in front of a tunnel without nginx', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry

  beforeAll(async () => {
    sentry = started.use(await startSentry())
  })

  afterAll(() => started.disposeAsync())

  /** Runs the doctor through a proxy with the fault. Returns what did not pass, and what the console shows of it. */
  async function diagnose(fault: Fault) {
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), ALLOWED_ORIGINS: FRIEND } })
    await using front = await startProxy(tunnel.url, fault)
    const deployment = await openDeployment({
      site: `http://127.0.0.1:${front.port}`,
      path: '/monitoring',
      dsn: parseDsn(sentry.dsn()),
      filterLists: [],
      closedPorts: [front.port],
      admin: { urls: [tunnel.adminUrl], token: tunnel.token },
      env: {},
      json: false,
    })
    const diagnosis = await runChecks(CHECKS, deployment)
    await deployment.admin?.publish(listFindings(diagnosis))
    const problems = diagnosis.filter(
      ({ result, blocked_by: cause }) => result !== 'pass' && cause === undefined,
    )
    return {
      found: Object.fromEntries(problems.map(({ name, result, message }) => [name, `${result}: ${message}`])),
      shown: await shownBy(tunnel),
    }
  }

  /** Returns the warnings and the rejection codes that the console shows. */
  async function shownBy(tunnel: Tunnel): Promise<string> {
    const { warnings } = await (await tunnel.admin('/status')).json()
    const { rejections } = await (await tunnel.admin('/rejections')).json()
    return [...warnings, ...rejections.map(({ code }: { code: string }) => code)].join('\n')
  }

  it('without a fault passes every check, also that of a host without pages', async () => {
    const { found, shown } = await diagnose({})
    expect(found).toEqual({})
    expect(shown).not.toMatch(/proxy/)
  })

  it.each<[what: string, fault: Fault, found: Record<string, RegExp>, shown: RegExp]>([
    [
      'strips the query',
      { url: (url) => url.replace(/\?.*/, '') },
      { query: /^fail: .*the proxy removes or changes the query/ },
      /^npm run doctor, [\d :-]+ UTC: “The tunnel rejects a query for another project” failed: .* Let the proxy forward the query/m,
    ],
    [
      'rewrites the body',
      { body: (body) => Buffer.from(body.toString()) },
      {
        replay: /^fail: .*400 item-malformed/,
        compression: /^fail: .*400 encoding-broken/,
        delivery: /^fail: The tunnel received \d+ bytes of the replay/,
        'body-too-large': /^warn: /,
      },
      /item-malformed[\s\S]*encoding-broken|encoding-broken[\s\S]*item-malformed/,
    ],
    [
      'limits bodies to 1 MB',
      limitBodies(MEGABYTE),
      { 'large-body': /^fail: .* 2 MiB is 413 text\/html/, 'body-too-large': /^warn: .*413 text\/html/ },
      /“Large bodies reach the tunnel” failed/,
    ],
    [
      'limits bodies to 10 MB',
      limitBodies(10 * MEGABYTE),
      { 'large-body': /^fail: .* 99 MB is 413 text\/html/, 'body-too-large': /^warn: .*413 text\/html/ },
      /“Large bodies reach the tunnel” failed/,
    ],
    [
      'sends no X-Forwarded-For',
      { headers: ({ 'x-forwarded-for': _, ...headers }) => headers },
      { 'client-address': /^fail: The tunnel receives no address/ },
      /Most requests have no X-Forwarded-For/,
    ],
    [
      'sends two addresses in X-Forwarded-For',
      {
        headers: (headers, given) => ({
          ...headers,
          'x-forwarded-for': [given['x-forwarded-for'] ?? '8.8.8.8', '127.0.0.1'].join(', '),
        }),
      },
      { 'client-address': /^warn: The proxy keeps the address that the doctor forged, in a list/ },
      /Most requests have several addresses in X-Forwarded-For/,
    ],
    [
      'passes credentials on',
      {
        headers(headers, { cookie, authorization }) {
          return { ...headers, ...(cookie && { cookie }), ...(authorization && { authorization }) }
        },
      },
      { credentials: /^fail: The tunnel receives cookie and authorization/ },
      /passes the header Cookie of visitors on[\s\S]*passes the header Authorization/,
    ],
    [
      'passes headers of Culvert on',
      {
        headers: (headers, { 'x-request-id': id, 'x-culvert-retry': retry }) => ({
          ...headers,
          ...(id && { 'x-request-id': id }),
          ...(retry && { 'x-culvert-retry': retry }),
        }),
      },
      { 'proxy-headers': /^fail: The tunnel accepts X-Request-Id and X-Culvert-Retry of a client/ },
      /accepts X-Request-Id and X-Culvert-Retry of a client/,
    ],
    [
      'buffers whole uploads',
      { body: (body) => body },
      { 'body-too-large': /^warn: The proxy reads a whole body of any size/ },
      /warns: The proxy reads a whole body of any size/,
    ],
    [
      'answers preflight requests itself',
      {
        answer(incoming, response) {
          const isPreflight = incoming.method === 'OPTIONS'
          if (isPreflight) response.writeHead(200).end()
          return isPreflight
        },
      },
      { 'cross-origin': /^fail: A preflight request of .*access-control-allow-origin: none/ },
      /“Pages of ALLOWED_ORIGINS can report” failed/,
    ],
    [
      'removes Access-Control-Expose-Headers',
      { response: ({ 'access-control-expose-headers': _, ...headers }) => headers },
      { 'cross-origin': /^fail: A page of .* cannot read rate limits/ },
      /cannot read rate limits/,
    ],
    [
      'removes Origin and Sec-Fetch-Site',
      { headers: ({ origin: _, 'sec-fetch-site': __, ...headers }) => headers },
      { origin: /^fail: .*accepts it: 200/ },
      /accepts it: 200/,
    ],
    [
      'sets a cookie',
      { response: (headers) => ({ ...headers, 'set-cookie': ['a=1'] }) },
      { headers: /^fail: A response of a tunnel sets a cookie/ },
      /sets a cookie/,
    ],
    [
      'adds Retry-After',
      { response: (headers) => ({ ...headers, 'retry-after': '60' }) },
      { 'rate-limits': /^fail: A response is 200 with Retry-After/ },
      /200 with Retry-After/,
    ],
    [
      'limits a visitor with a bare 429',
      answerPosts(429, {}, 40),
      { burst: /^fail: \d+ of \d+ are rejected with a bare 429/ },
      /are rejected with a bare 429/,
    ],
    [
      'turns 4xx into 200',
      { status: () => 200 },
      { proxy: /^fail: .*malformed envelope is answered with 200 instead of 400/ },
      /pass the status of the tunnel on/,
    ],
    [
      'removes headers that it does not know',
      { response: () => ({ 'content-type': 'application/json' }) },
      { proxy: /^fail: .*removes headers of responses/ },
      /pass X-Culvert-Receipt/,
    ],
    [
      'routes the path to the pages',
      answerPosts(200, { 'content-type': 'text/html' }),
      { proxy: /^unknown: No tunnel/, tunnel: /^fail: \/monitoring responds with 200/ },
      /\/monitoring responds with 200/,
    ],
    [
      'answers with a bare 429',
      answerPosts(429),
      { proxy: /^fail: .*answers with a bare 429/ },
      /Leave rate limits to the tunnel/,
    ],
    [
      'answers with a 302 to a sign-in',
      answerPosts(302, { location: 'https://sign-in.example/' }),
      { proxy: /^fail: .*redirects \(302\) to https:\/\/sign-in\.example\// },
      /without a redirect or sign-in/,
    ],
  ])('that %s is found', async (_, fault, findings, warning) => {
    const { found, shown } = await diagnose(fault)
    expect(found).toEqual(
      Object.fromEntries(Object.entries(findings).map(([name, text]) => [name, expect.stringMatching(text)])),
    )
    expect(shown).toMatch(warning)
  })

  it('that answers from its cache is found', async () => {
    let cached: Headers | undefined
    const { found, shown } = await diagnose({
      response(headers) {
        if (headers['x-culvert-receipt']) cached ??= headers
        return cached ?? headers
      },
    })
    expect(found).toMatchObject({ proxy: expect.stringMatching(/^fail: It answers posts from a cache/) })
    expect(shown).toMatch(/^npm run doctor, .* It answers posts from a cache/m)
  })
})
