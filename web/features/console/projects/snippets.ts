/** Code that makes a page or an app report through this site. */

import { type Dsn, formatDsn, parseDsn, tunnelUrl } from 'contract/dsn'

/** Options of `Sentry.init`, each on its own line. */
export function initOptions(dsn: string, tunnelPath: string): string {
  return `  dsn: '${dsn}',\n  tunnel: '${urlFor(dsn, tunnelPath)}',`
}

export function initSnippet(dsn: string, tunnelPath: string): string {
  return `Sentry.init({\n${initOptions(dsn, tunnelPath)}\n})`
}

export function scriptTag(dsn: string, tunnelPath: string): string {
  return `<script src="${urlFor(dsn, `${tunnelPath}/sdk.js`)}" crossorigin></script>`
}

/** Adds the query that names the project. */
export function urlFor(dsn: string, path: string): string {
  const parsed = parseDsn(dsn)
  return parsed ? tunnelUrl(path, parsed) : path
}

/** Returns the name of a project as receipts and statuses have it. */
export function projectName({ host, port, projectId }: Dsn): string {
  return `${host}${port && `:${port}`}/${projectId}`
}

/** Returns a DSN as SDKs write it, without a secret; `undefined` for an invalid one. */
export function publicDsn(text: string): string | undefined {
  const parsed = parseDsn(text)
  return parsed && formatDsn(parsed)
}
