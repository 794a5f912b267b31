/** Public routes, in order. */

import { METHODS } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { derivedPath } from '../envelope/dsn.ts'
import type { Projects } from '../projects.ts'
import { Rejection, type RejectionCode, rejectionBody } from '../rejections.ts'
import type { ClientResolver } from './client-address.ts'
import type { Ingest } from './ingest.ts'
import { checkOrigin, corsHeaders, PREFLIGHT_HEADERS } from './origin.ts'

type AppDeps = {
  ingest: Ingest
  resolveClient: ClientResolver
  projects: Projects
  tunnelPaths: readonly string[]
  derivedPaths: boolean
  allowedOrigins: ReadonlySet<string>
}

/** All methods of Node except POST and OPTIONS. With `all`, every POST would match two routes. */
const OTHER_METHODS = METHODS.filter((method) => method !== 'POST' && method !== 'OPTIONS')

type Env = { Bindings: HttpBindings }
type AppContext = Context<Env>
export type App = Hono<Env>

export function createApp(deps: AppDeps): App {
  const app: App = new Hono({ strict: true })
  for (const path of servedPaths(deps)) {
    app.post(path, (c) => deps.ingest.handle(c.env.incoming))
    app.options(path, preflight)
    app.on(OTHER_METHODS, path, (c) => reject(c, 'method-unknown', { allow: 'POST, OPTIONS' }))
  }
  app.notFound((c) => reject(c, 'path-unknown', {}))
  return app

  function preflight(c: AppContext): Response {
    try {
      const cors = corsHeaders(checkOrigin(c.env.incoming.headers, deps.allowedOrigins))
      return c.body(null, 204, { ...cors, ...(cors.vary && PREFLIGHT_HEADERS) })
    } catch {
      return c.body(null, 204)
    }
  }

  function reject(c: AppContext, code: RejectionCode, headers: Record<string, string>): Response {
    const rejection = new Rejection(code)
    const { requestId } = deps.resolveClient(c.env.incoming)
    return c.body(rejectionBody(rejection, requestId), rejection.status, {
      'content-type': 'application/json',
      'x-request-id': requestId,
      ...headers,
    })
  }
}

/** Lists each path with and without a final slash. SDKs compare the whole URL, so that a redirect would not do. */
function servedPaths({ tunnelPaths, derivedPaths, projects }: AppDeps): string[] {
  const derived = derivedPaths ? projects.all.map(({ dsn }) => derivedPath(dsn)) : []
  return [...new Set([...tunnelPaths, ...derived])].flatMap((path) => [path, `${path}/`])
}
