/** Checks that the proxy routes pages to web, and the tunnel path to a tunnel. */

import { type Check, fail, pass } from '../check.ts'
import { type HttpResponse, jsonOf, summarize } from '../request.ts'

export const page: Check = {
  name: 'page',
  after: ['proxy'],
  title: 'The start page loads',
  verifies:
    'The proxy (nginx, and everything in front of it) responds, and routes / to web, to your app, or on a host of its own to the tunnel.',
  remedy: 'Check that web runs (docker compose ps web), and what nginx logs for /.',
  run({ page, site }) {
    if (!page) return fail(`${site}/ does not respond.`)
    const { location, 'content-type': type = 'no type' } = page.headers
    if (location !== undefined) return fail(`It redirects to ${location}: run the doctor on that address.`)
    if (servesTunnelOnly(page)) return pass('This host serves a tunnel only, and no page.')
    if (page.status !== 200) return fail(`It responds with ${summarize(page)}.`)
    if (!type.startsWith('text/html')) return fail(`It responds with ${type}, not with a document.`)
    return pass(`${page.status} after ${page.durationMs.toFixed(0)} ms.`)
  },
}

/** Returns whether a tunnel has answered for the start page: then the host is only for reports, and pages are on another one. */
export function servesTunnelOnly(page: HttpResponse): boolean {
  return page.status === 404 && jsonOf(page).code === 'path-unknown'
}

/** Connectivity probe of the SDKs; a tunnel neither forwards nor counts it. */
export const PROBE = Buffer.from('{}')

export const tunnel: Check = {
  name: 'tunnel',
  after: ['proxy'],
  title: 'The tunnel path leads to a tunnel',
  verifies:
    'The proxy routes the path to a tunnel, with and without a slash at its end, and redirects neither.',
  remedy:
    'Give nginx, web and the tunnel the same TUNNEL_PATHS, route each path and its form with a slash to the tunnel, and check that a tunnel runs (docker compose ps tunnel).',
  async run({ path, post }) {
    for (const each of [path, `${path}/`]) {
      const response = await post(PROBE, { path: each })
      const { location } = response.headers
      if (location !== undefined)
        return fail(`${each} redirects (${response.status}) to ${location}: SDKs do not follow redirects.`)
      if (!acceptsProbe(response))
        return fail(`${each} responds with ${summarize(response)}; a tunnel responds with 200 {}.`)
    }
    return pass(`${path} and ${path}/ accept an SDK's probe.`)
  },
}

export function acceptsProbe(response: HttpResponse): boolean {
  return (
    response.status === 200 && response.text.trim() === '{}' && Object.keys(jsonOf(response)).length === 0
  )
}
