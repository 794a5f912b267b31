/** The projects this tunnel carries for: a table made from configuration, in which every envelope's DSN is looked up. */

import { type Dsn, formatDsn, identifiersOf, originOf, parseDsn } from './envelope/dsn.ts'
import { Rejection } from './rejections.ts'

export type Project = {
  dsn: Dsn
  /** Its DSN without a secret: what tells it from every other. */
  key: string
  /** `host/project`, for labels and logs. */
  name: string
  /** Scheme and authority of its Sentry. */
  origin: string
  /** Path and query of its envelope endpoint. No part of it comes from a request. */
  endpoint: string
}

/** Identifiers in a tunnel's query: `p` project, `o` organisation, `r` region. */
export type PostedQuery = { p?: string; o?: string; r?: string }

export type Projects = {
  all: readonly Project[]
  byKey(key: string): Project | undefined
  /** `host/project`, also of one that is configured no more. */
  nameOf(key: string): string
  /** The project that an envelope belongs to. Throws a `Rejection` when it is none of ours, or the query disagrees. */
  resolve(dsn: unknown, query: PostedQuery): Project
}

export function createProjects(dsns: readonly Dsn[]): Projects {
  const byDsn = new Map(dsns.map((dsn) => [keyOf(dsn), describe(dsn)]))
  const all = [...byDsn.values()]
  // What SDKs write is most often just this text, so that nothing needs to be parsed.
  const byText = new Map(all.map((project) => [project.key, project]))
  return { all, byKey: (key) => byText.get(key), nameOf, resolve }

  function nameOf(key: string): string {
    const dsn = parseDsn(key)
    return byText.get(key)?.name ?? (dsn ? describe(dsn).name : 'unknown')
  }

  function resolve(dsn: unknown, query: PostedQuery): Project {
    if (typeof dsn !== 'string') return resolveByQuery(query)
    const project = byText.get(dsn) ?? parsed(dsn)
    checkQuery(project, query)
    return project
  }

  function parsed(text: string): Project {
    const dsn = parseDsn(text)
    if (!dsn) throw new Rejection('dsn-invalid')
    const project = byDsn.get(keyOf(dsn))
    if (!project) throw new Rejection('dsn-unknown')
    return project
  }

  function resolveByQuery(query: PostedQuery): Project {
    if (query.p === undefined) throw new Rejection('dsn-missing')
    const [only, ...others] = all.filter((project) => disagreement(project, query) === undefined)
    if (!only || others.length > 0) throw new Rejection('dsn-missing')
    return only
  }
}

/** Host, project and key, exactly; whether it says http or https does not matter, since the table's own is used. */
function keyOf({ publicKey, host, port, path, projectId }: Dsn): string {
  return `${publicKey}@${host}:${port}/${path}/${projectId}`
}

function describe(dsn: Dsn): Project {
  const prefix = dsn.path ? `/${dsn.path}` : ''
  // `hsts=0` keeps Sentry's cloud from speaking of HTTPS for the customer's host (PROTOCOL §5).
  const hsts = identifiersOf(dsn).o ? '&hsts=0' : ''
  return {
    dsn,
    key: formatDsn(dsn),
    name: `${dsn.host}${dsn.port && `:${dsn.port}`}/${dsn.projectId}`,
    origin: originOf(dsn),
    endpoint: `${prefix}/api/${dsn.projectId}/envelope/?sentry_key=${dsn.publicKey}&sentry_version=7${hsts}`,
  }
}

function checkQuery(project: Project, query: PostedQuery): void {
  const name = disagreement(project, query)
  if (name) throw new Rejection('query-mismatch', `The query's ${name} is not the DSN's.`)
}

/** Every identifier that is present must agree; `o` and `r` are facts of Sentry's cloud only. */
function disagreement({ dsn }: Project, query: PostedQuery): 'p' | 'o' | 'r' | undefined {
  if (query.p === undefined && query.o === undefined && query.r === undefined) return undefined
  const { p, o, r } = identifiersOf(dsn)
  if (query.p !== undefined && query.p !== p) return 'p'
  if (query.o !== undefined && query.o !== o) return 'o'
  if (query.r !== undefined && query.r !== r) return 'r'
  return undefined
}
