/** Expectations of the recording Sentry for a request of the tunnel. Everything else fails the test. */

import { isIP } from 'node:net'
import type { Received } from './received-request.ts'

/** Known projects: project ID and public key. */
export type Projects = Readonly<Record<string, string>>

// Headers sent upstream are an allow-list.
const HEADERS =
  /^(host|connection|content-length|transfer-encoding|content-type|content-encoding|user-agent|origin|referer|x-forwarded-for|x-sentry-forwarded-for|x-real-ip|sec-ch-ua(-[a-z-]+)?)$/

const QUERY = new Set(['sentry_key', 'sentry_version', 'sentry_client', 'hsts'])

/** Returns the faults of a request as sentences without a subject; empty when there are none. */
export function faultsOf(received: Received, projects: Projects): string[] {
  return [
    ...routeFaults(received, projects),
    ...queryFaults(received.query),
    ...headerFaults(received),
    ...(received.malformed && !isReport(received) ? [`is not an envelope (${received.malformed})`] : []),
  ]
}

/** CSP reports may come to an endpoint of their own. */
function isReport({ path }: Received): boolean {
  return path.endsWith('/security/')
}

function routeFaults({ method, path, query }: Received, projects: Projects): string[] {
  if (method !== 'POST') return [`has the method ${method}`]
  const project = /^(?:\/[\w.~-]+)*\/api\/(\d+)\/(?:envelope|security)\/$/.exec(path)?.[1]
  if (project === undefined) return ['is not to an envelope endpoint']
  const key = projects[project]
  if (key === undefined) return [`is for the project ${project}, which does not exist`]
  return query.get('sentry_key') === key ? [] : [`has a key that is not of project ${project}`]
}

function queryFaults(query: URLSearchParams): string[] {
  const names = [...query.keys()]
  return [
    ...(query.get('sentry_version') === '7' ? [] : ['is without sentry_version=7']),
    ...names.filter((name) => !QUERY.has(name)).map((name) => `has the query parameter "${name}"`),
    ...(new Set(names).size < names.length ? ['has a query parameter twice'] : []),
  ]
}

function headerFaults(received: Received): string[] {
  const { headers, rawHeaders } = received
  const type = isReport(received) ? 'application/csp-report' : 'application/x-sentry-envelope'
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase())
  const addresses = ['x-forwarded-for', 'x-sentry-forwarded-for', 'x-real-ip'].filter(
    (name) => headers[name] !== undefined,
  )
  return [
    ...names.filter((name) => !HEADERS.test(name)).map((name) => `has the header "${name}"`),
    ...(new Set(names).size < names.length ? ['has a header twice'] : []),
    ...(headers['content-type'] === type ? [] : [`has the content type ${headers['content-type']}`]),
    ...addresses
      .filter((name) => !isIP(String(headers[name])))
      .map((name) => `has ${name}: ${headers[name]}, which is not one address`),
  ]
}
