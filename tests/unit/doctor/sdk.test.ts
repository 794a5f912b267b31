/** Checks of the doctor for the SDK, with a proxy between it and the tunnel. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runChecks } from '../../../doctor/check.ts'
import { adblock } from '../../../doctor/checks/adblock.ts'
import { sdk, sdkBundles, sdkOrigin, sdkPaths, sdkProject } from '../../../doctor/checks/sdk.ts'
import { openDeployment } from '../../../doctor/deployment.ts'
import { type Asked, startUpstream } from '../../support/recording-server.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { writeSdk } from '../../support/tunnel/sdk.ts'

const FRIEND = 'https://friend.example'
const ADD_ONS = ['replay', 'feedback'] as const
const SDK_CHECKS = [sdk, sdkBundles, sdkPaths, sdkProject, sdkOrigin]

type Headers = Record<string, string | string[] | undefined>
type Answer = { status: number; headers: Headers; body: Buffer }

/** Builds the response of the proxy from the request and the response of the tunnel to it. */
type Alter = (answer: Answer, asked: Asked) => Answer

describe('The checks of the SDK', () => {
  const started = new AsyncDisposableStack()
  let tunnel: Tunnel

  beforeAll(async () => {
    const folder = started.use(await makeFolder())
    await writeSdk(folder.path, undefined, ADD_ONS)
    const env = {
      SENTRY_DSN: 'https://key@sentry.example/1',
      ALLOWED_ORIGINS: FRIEND,
      TUNNEL_PATHS: '/monitoring|/other/path',
    }
    tunnel = started.use(await openTunnel({ env, sdkFolder: folder.path }))
  })

  afterAll(() => started.disposeAsync())

  /** Runs the checks through a proxy, and returns the results that did not pass by name. */
  async function problems(alter: Alter, of = tunnel, checks = SDK_CHECKS, filterLists: string[] = []) {
    await using proxy = await startUpstream('proxy', async (asked, response) => {
      const { status, headers, body } = alter(await forward(of.url, asked), asked)
      response.writeHead(status, headers as Record<string, string>).end(body)
    })
    const deployment = await openDeployment({
      site: `http://${proxy.address}`,
      path: '/monitoring',
      dsn: undefined,
      filterLists,
      closedPorts: [],
      admin: { urls: [of.adminUrl], token: of.token },
      env: {},
      json: false,
    })
    const diagnosis = await runChecks(checks, deployment)
    return diagnosis
      .filter(({ result, blocked_by: cause }) => result !== 'pass' && cause === undefined)
      .map(({ name, result, message, remedy }) => [name, result, message, remedy])
  }

  it('pass behind a proxy that changes nothing', async () => {
    expect(await problems((answer) => answer)).toEqual([])
  })

  it('pass behind a proxy that weakens ETags', async () => {
    const alter: Alter = ({ headers, body, ...answer }) => ({
      ...answer,
      headers: { ...headers, ...(headers.etag && { etag: `W/${headers.etag}` }) },
      body,
    })
    expect(await problems(alter)).toEqual([])
  })

  it('name the build where the tunnel has no SDK', async () => {
    await using folder = await makeFolder()
    const { bundles } = await writeSdk(folder.path)
    await rm(join(folder.path, bundles.errors.file))
    await using without = await openTunnel({ sdkFolder: folder.path })
    expect(await problems((answer) => answer, without)).toEqual([
      [
        'sdk',
        'fail',
        'The tunnel responds with 503 sdk-missing.',
        expect.stringContaining('npm run build:sdk'),
      ],
    ])
  })

  const isOnMainPath = ({ url }: Asked) => url.startsWith('/monitoring/sdk/')
  const isBundle = ({ url }: Asked) => url.includes('/sdk/')
  const without = (header: string): Alter => {
    return ({ headers: { [header]: _, ...headers }, ...answer }) => ({ ...answer, headers })
  }
  const withHeader = (name: string, value: string, isAltered = (_: Asked) => true): Alter => {
    return (answer, asked) =>
      isAltered(asked) ? { ...answer, headers: { ...answer.headers, [name]: value } } : answer
  }

  it.each<[what: string, alter: Alter, name: string, message: RegExp, remedy: RegExp]>([
    [
      'sends sdk.js to the app',
      () => ({ status: 404, headers: { 'content-type': 'text/html' }, body: Buffer.from('<p>Not found') }),
      'sdk',
      /^sdk\.js responds with 404 text\/html/,
      /route sdk\.js and everything below sdk\//,
    ],
    [
      'answers with a page',
      () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: Buffer.from('<p>Shop') }),
      'sdk',
      /^sdk\.js responds with a page \(text\/html\)/,
      /route sdk\.js/,
    ],
    [
      'redirects',
      () => ({ status: 302, headers: { location: '/sign-in' }, body: Buffer.alloc(0) }),
      'sdk',
      /^sdk\.js redirects \(302\) to \/sign-in/,
      /route sdk\.js/,
    ],
    [
      'changes the type',
      withHeader('content-type', 'application/octet-stream'),
      'sdk',
      /has application\/octet-stream instead of text\/javascript/,
      /pass Content-Type on/,
    ],
    ['removes nosniff', without('x-content-type-options'), 'sdk', /is missing/, /X-Content-Type-Options/],
    [
      'keeps sdk.js for hours in browsers',
      withHeader('cache-control', 'public, max-age=14400', (asked) => !isBundle(asked)),
      'sdk',
      /keep sdk\.js for 14400 s instead of 300 s/,
      /pass Cache-Control on/,
    ],
    [
      'keeps sdk.js for days',
      withHeader('age', '90000', (asked) => !isBundle(asked)),
      'sdk',
      /cache that has kept it for 90000 s/,
      /purge sdk\.js/,
    ],
    [
      'modifies sdk.js',
      (answer, asked) =>
        isBundle(asked)
          ? answer
          : {
              ...answer,
              headers: { ...answer.headers, 'content-encoding': 'br' },
              body: brotliCompressSync('x()'),
            },
      'sdk',
      /modifies sdk\.js/,
      /Switch off the minifying/,
    ],
    [
      'modifies bundles',
      (answer, asked) =>
        isBundle(asked) && answer.headers['content-encoding'] === undefined
          ? { ...answer, body: Buffer.from('x()') }
          : answer,
      'sdk-bundles',
      /content of errors-\w+\.js is not the one that sdk\.js announces/,
      /Switch off the minifying/,
    ],
    [
      'names another encoding than that of the content',
      withHeader('content-encoding', 'gzip', isBundle),
      'sdk-bundles',
      /content of errors-\w+\.js is not the one/,
      /Switch off/,
    ],
    [
      'has an sdk.js of an earlier release in its cache',
      (answer, asked) =>
        isBundle(asked)
          ? {
              status: 404,
              headers: { 'content-type': 'application/json' },
              body: Buffer.from('{"code":"sdk-file-unknown"}'),
            }
          : answer,
      'sdk-bundles',
      /No tunnel has errors-\w+\.js, which sdk\.js names/,
      /Purge sdk\.js/,
    ],
    [
      'caches one encoding for all clients',
      (answer, asked) =>
        isBundle(asked)
          ? {
              ...answer,
              headers: { ...answer.headers, 'content-encoding': 'br' },
              body:
                answer.headers['content-encoding'] === 'br' ? answer.body : brotliCompressSync(answer.body),
            }
          : answer,
      'sdk-bundles',
      /accepts no compression gets errors-\w+\.js with br/,
      /one copy for each Accept-Encoding/,
    ],
    [
      'caches sdk.js for all queries',
      (() => {
        let first: Answer | undefined
        return (answer, { url }) => {
          if (!url.includes('/sdk.js')) return answer
          first ??= answer
          return first
        }
      })(),
      'sdk-project',
      /ignores or removes the query/,
      /one copy for each query/,
    ],
    [
      'replaces 404',
      (answer) => ({ ...answer, status: answer.status === 404 ? 503 : answer.status }),
      'sdk-project',
      /is answered with 503 project-unknown instead of 404/,
      /pass the status/,
    ],
    [
      'allows all origins',
      withHeader('access-control-allow-origin', '*'),
      'sdk-origin',
      /access-control-allow-origin: \*/,
      /add no Access-Control-Allow-Origin/,
    ],
    [
      'removes Access-Control-Allow-Origin',
      without('access-control-allow-origin'),
      'sdk-origin',
      /friend\.example, which is in ALLOWED_ORIGINS, is not allowed/,
      /pass Origin and Access-Control-Allow-Origin on/,
    ],
  ])('name only the cause for a proxy that %s', async (_, alter, name, message, remedy) => {
    const expected = [name, 'fail', expect.stringMatching(message), expect.stringMatching(remedy)]
    expect(await problems(alter)).toEqual([expected])
  })

  it('name an add-on that a proxy has changed', async () => {
    const alter: Alter = (answer, { url }) => {
      if (!/sdk\/replay-/.test(url)) return answer
      return {
        ...answer,
        headers: { ...answer.headers, 'content-encoding': 'br' },
        body: brotliCompressSync('x()'),
      }
    }
    expect(await problems(alter)).toEqual([
      [
        'sdk-bundles',
        'fail',
        expect.stringMatching(/content of replay-\w+\.js is not the one/),
        expect.any(String),
      ],
    ])
  })

  it.each(['sdk.js', 'sdk/errors-'])('name the path below which a proxy does not route %s', async (file) => {
    const alter: Alter = (answer, { url }) =>
      url.startsWith(`/other/path/${file}`)
        ? { status: 404, headers: { 'content-type': 'text/html' }, body: Buffer.from('<p>Not found') }
        : answer
    expect(await problems(alter)).toEqual([
      [
        'sdk-paths',
        'fail',
        expect.stringMatching(/^\/other\/path\/sdk\S+ responds with 404/),
        expect.any(String),
      ],
    ])
  })

  it.each(['/sdk.js$script', '/sdk/errors.js', '/sdk/feedback-0'])(
    'name a bundle that the ad-block filter %s blocks',
    async (filter) => {
      expect(await problems((answer) => answer, tunnel, [adblock], [filter])).toEqual([
        ['adblock', 'fail', expect.stringContaining(`is blocked by ${filter}`), expect.any(String)],
      ])
    },
  )

  it('warn of a proxy that keeps browsers from storing bundles', async () => {
    expect(await problems(withHeader('cache-control', 'no-store', isOnMainPath))).toEqual([
      [
        'sdk-bundles',
        'warn',
        expect.stringMatching(/again and again/),
        expect.stringMatching(/Cache-Control/),
      ],
    ])
  })
})

async function forward(url: string, { method, url: path, headers }: Asked): Promise<Answer> {
  const {
    statusCode: status,
    headers: its,
    body,
  } = await request(`${url}${path}`, {
    method: method as 'GET',
    headers: headers as Record<string, string>,
  })
  const { 'transfer-encoding': _, 'content-length': __, ...kept } = its
  return { status, headers: kept, body: Buffer.from(await body.arrayBuffer()) }
}
