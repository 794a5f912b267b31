/** Routes of the SDK below a tunnel path: `sdk.js` and the bundles that it loads. */

import type { IncomingMessage } from 'node:http'
import type { OriginSet } from 'contract/origins'
import { Rejection } from 'contract/rejections'
import type { Counters } from '../observe/counters.ts'
import type { Projects } from '../pipeline/projects.ts'
import { type Content, respondWith } from '../sdk/content.ts'
import type { Sdk } from '../sdk/sdk.ts'
import type { SharedBundles } from '../sdk/shared-bundles.ts'
import { findProject } from './query.ts'

export type SdkDeps = {
  /** Absent: it has not been built. */
  sdk: Sdk | undefined
  /** Bundles of other releases. */
  sharedBundles: Pick<SharedBundles, 'read'> | undefined
  projects: Projects
  counters: Pick<Counters, 'countSdkLoad'>
  allowedOrigins: OriginSet
}

const YEAR = 'public, max-age=31536000, immutable'
/** Cache-Control of files whose content changes with the settings and with each release. */
const MINUTES = 'public, max-age=300, stale-while-revalidate=3600'

/** Responds with the loader of the project that the query names, by default the first. Throws a `Rejection`. */
export function respondWithLoader(incoming: IncomingMessage, deps: SdkDeps): Response {
  const response = respondWithScript(incoming, deps, 'loader')
  if (incoming.method === 'GET') deps.counters.countSdkLoad()
  return response
}

/** Responds with the reach test alone, for pages with an SDK of their own. Throws a `Rejection`. */
export function respondWithReachTest(incoming: IncomingMessage, deps: SdkDeps): Response {
  return respondWithScript(incoming, deps, 'reachTest')
}

function respondWithScript(
  incoming: IncomingMessage,
  { sdk, projects, allowedOrigins }: SdkDeps,
  script: 'loader' | 'reachTest',
): Response {
  if (!sdk) throw new Rejection('sdk-missing')
  const project = findProject(incoming.url ?? '', projects)
  if (!project) throw new Rejection('project-unknown')
  return withOriginHeaders(
    respondWith(sdk[script](project), incoming.headers, MINUTES),
    incoming,
    allowedOrigins,
  )
}

/** Responds with a bundle of this release, or of another one. Throws a `Rejection`. */
export async function respondWithBundle(
  incoming: IncomingMessage,
  name: string,
  { sdk, sharedBundles, allowedOrigins }: SdkDeps,
): Promise<Response> {
  if (!sdk) throw new Rejection('sdk-missing')
  const content = sdk.bundles().get(name) ?? (await readShared(name, sharedBundles))
  if (!content) throw new Rejection('sdk-file-unknown')
  const response = respondWith(content, incoming.headers, YEAR)
  return withOriginHeaders(response, incoming, allowedOrigins)
}

async function readShared(name: string, bundles: SdkDeps['sharedBundles']): Promise<Content | undefined> {
  try {
    return await bundles?.read(name)
  } catch {
    throw new Rejection('sdk-store-away')
  }
}

/** Lets pages of this origin and of `ALLOWED_ORIGINS` load the script and read its status; the browser withholds it from others. */
export function withOriginHeaders(
  response: Response,
  { headers: { origin = '' } }: IncomingMessage,
  allowed: OriginSet,
): Response {
  const isAllowed = allowed.has(origin)
  response.headers.set('cross-origin-resource-policy', isAllowed ? 'cross-origin' : 'same-origin')
  if (allowed.size > 0) response.headers.append('vary', 'origin')
  if (isAllowed) response.headers.set('access-control-allow-origin', origin)
  return response
}
