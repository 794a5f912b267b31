/** Every public route, in the order a request meets them. */

import { METHODS } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { derivedPath } from '../envelope/dsn.ts'
import type { Projects } from '../projects.ts'
import { Rejection, type RejectionCode, rejectionBody } from '../rejections.ts'
import type { ClientResolver } from './client-address.ts'
import type { Ingest } from './ingest.ts'
import { checkOrigin, corsHeaders, PREFLIGHT_HEADERS } from './origin.ts'

export type AppDeps = {
  ingest: Ingest
  resolveClient: ClientResolver
  projects: Projects
  tunnelPaths: readonly string[]
  derivedPaths: boolean
  allowedOrigins: ReadonlySet<string>
}

/** All that Node takes but POST and OPTIONS: with `all`, every post would match two routes. */
const OTHER_METHODS = METHODS.filter((method) => method !== 'POST' && method !== 'OPTIONS')

export type App = Hono<{ Bindings: HttpBindings }>

export function createApp(parts: AppDeps): App {
  const app: App = new Hono({ strict: true })
  for (const path of servedPaths(parts)) {
    app.post(path, (c) => parts.ingest.handle(c.env.incoming))
    app.options(path, preflight)
    app.on(OTHER_METHODS, path, (c) => reject(c, 'method-unknown', { allow: 'POST, OPTIONS' }))
  }
  app.notFound((c) => reject(c, 'path-unknown', {}))
  return app

  function preflight(c: Context<{ Bindings: HttpBindings }>): Response {
    try {
      const cors = corsHeaders(checkOrigin(c.env.incoming.headers, parts.allowedOrigins))
      return c.body(null, 204, { ...cors, ...(cors.vary && PREFLIGHT_HEADERS) })
    } catch {
      return c.body(null, 204)
    }
  }

  function reject(
    c: Context<{ Bindings: HttpBindings }>,
    code: RejectionCode,
    headers: Record<string, string>,
  ): Response {
    const rejection = new Rejection(code)
    const { requestId } = parts.resolveClient(c.env.incoming)
    return c.body(rejectionBody(rejection, requestId), rejection.status, {
      'content-type': 'application/json',
      'x-request-id': requestId,
      ...headers,
    })
  }
}

/** Each path with and without a slash at its end: SDKs compare the whole URL, so none may be redirected to the other. */
function servedPaths({ tunnelPaths, derivedPaths, projects }: AppDeps): string[] {
  const derived = derivedPaths ? projects.all.map(({ dsn }) => derivedPath(dsn)) : []
  return [...new Set([...tunnelPaths, ...derived])].flatMap((path) => [path, `${path}/`])
}
