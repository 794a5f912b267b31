/** Public routes, in order. */

import { METHODS } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { derivedPaths } from 'contract/dsn'
import { Rejection, rejectionBody } from 'contract/rejections'
import { type Context, Hono } from 'hono'
import type { HttpResponse } from '../pipeline/pipeline.ts'
import type { ClientResolver } from './client-address.ts'
import type { Ingest } from './ingest.ts'
import { checkOrigin, corsHeaders, PREFLIGHT_HEADERS } from './origin.ts'
import { type ReachDeps, ReachReports } from './reach-results.ts'
import {
  respondWithBundle,
  respondWithLoader,
  respondWithReachTest,
  type SdkDeps,
  withOriginHeaders,
} from './sdk-routes.ts'

type AppDeps = SdkDeps &
  ReachDeps & {
    ingest: Ingest
    resolveClient: ClientResolver
    tunnelPaths: readonly string[]
    derivedPaths: boolean
  }

/** Methods of Node that tunnel paths and the SDK do not accept. With `all`, every POST would match two routes. */
const OTHER_METHODS = METHODS.filter((method) => method !== 'POST' && method !== 'OPTIONS')
const OTHER_SDK_METHODS = METHODS.filter((method) => method !== 'GET' && method !== 'HEAD')

type Env = { Bindings: HttpBindings }
type AppContext = Context<Env>
export type App = Hono<Env>

export function createApp(deps: AppDeps): App {
  const app: App = new Hono({ strict: true })
  const reach = new ReachReports(deps)
  for (const path of servedPaths(deps)) acceptPosts(path, 'handle')
  for (const path of tunnelPathsOf(deps)) {
    acceptPosts(`${path}/reports`, 'handleReports')
    app.post(`${path}/reach`, (c) => respond(c, () => reach.respond(c.env.incoming)))
    app.get(`${path}/sdk/reach.js`, (c) => respond(c, () => respondWithReachTest(c.env.incoming, deps)))
    app.get(`${path}/sdk.js`, (c) => respond(c, () => respondWithLoader(c.env.incoming, deps)))
    app.get(`${path}/sdk/:file`, (c) =>
      respond(c, () => respondWithBundle(c.env.incoming, c.req.param('file'), deps)),
    )
    app.on(OTHER_SDK_METHODS, [`${path}/sdk.js`, `${path}/sdk/:file`], (c) =>
      reject(c, new Rejection('method-unknown'), { allow: 'GET, HEAD' }),
    )
  }
  app.notFound((c) => reject(c, new Rejection('path-unknown'), {}))
  return app

  function acceptPosts(path: string, handle: 'handle' | 'handleReports'): void {
    app.post(path, async (c) => responseOf(await deps.ingest[handle](c.env.incoming)))
    app.options(path, preflight)
    app.on(OTHER_METHODS, path, (c) => reject(c, new Rejection('method-unknown'), { allow: 'POST, OPTIONS' }))
  }

  function preflight(c: AppContext): Response {
    try {
      const cors = corsHeaders(checkOrigin(c.env.incoming.headers, deps.allowedOrigins))
      return c.body(null, 204, { ...cors, ...(cors.vary && PREFLIGHT_HEADERS) })
    } catch {
      return c.body(null, 204)
    }
  }

  async function respond(c: AppContext, create: () => Response | Promise<Response>): Promise<Response> {
    try {
      return await create()
    } catch (error) {
      if (!(error instanceof Rejection)) throw error
      const rejected = reject(c, error, { 'cache-control': 'no-store' })
      return withOriginHeaders(rejected, c.env.incoming, deps.allowedOrigins)
    }
  }

  function reject(c: AppContext, rejection: Rejection, headers: Record<string, string>): Response {
    const { requestId } = deps.resolveClient(c.env.incoming)
    return c.body(rejectionBody(rejection, requestId), rejection.status, {
      'content-type': 'application/json',
      'x-request-id': requestId,
      ...headers,
    })
  }
}

function responseOf({ status, headers, body }: HttpResponse): Response {
  return new Response(body, { status, headers })
}

/** Lists each path with and without a final slash. SDKs compare the whole URL, so that a redirect would not do. */
export function servedPaths(deps: Parameters<typeof tunnelPathsOf>[0]): string[] {
  return tunnelPathsOf(deps).flatMap((path) => [path, `${path}/`])
}

/** Lists the configured tunnel paths, and with `DERIVED_PATHS` those of the projects. */
export function tunnelPathsOf({
  tunnelPaths,
  ...deps
}: Pick<AppDeps, 'tunnelPaths' | 'derivedPaths' | 'projects'>): string[] {
  return [...new Set([...tunnelPaths, ...derivedPathsOf(deps)])]
}

function derivedPathsOf({
  derivedPaths: isOn,
  projects,
}: Pick<AppDeps, 'derivedPaths' | 'projects'>): string[] {
  return isOn ? projects.all.flatMap(({ dsn }) => derivedPaths(dsn)) : []
}

/** Creates a function that removes the base path (`tunnel: { basePath }`) before a derived path from the target of a request. */
export function createBasePathRemover(
  deps: Parameters<typeof derivedPathsOf>[0],
): (target: string) => string {
  const paths = derivedPathsOf(deps)
  if (paths.length === 0) return (target) => target
  const withBase = new RegExp(`^(?:/[\\w.~%-]+)+((?:${paths.join('|')})(?:[/?]|$))`)
  return (target) => target.replace(withBase, '$1')
}
