/** Table of the configured projects, in which the DSN of every envelope is looked up. */

import {
  type Dsn,
  formatDsn,
  type Identifiers,
  identifiersOf,
  isSameProject,
  originOf,
  parseDsn,
} from 'contract/dsn'
import type { Mirror } from 'contract/mirrors'
import { Rejection } from 'contract/rejections'

export type Project = {
  dsn: Dsn
  /** Identifiers that the query of a request may name. */
  identifiers: Identifiers
  /** DSN without a secret, which identifies the project. That of a mirror ends with `#mirror`. */
  key: string
  /** `host/project`, for labels and logs. */
  name: string
  /** Scheme and authority of the upstream. */
  origin: string
  /** Path and query of the envelope endpoint. No part of it comes from a request. */
  endpoint: string
}

/** Query of a request, in which each identifier may be missing. */
export type PostedQuery = Partial<Identifiers>

export type Projects = {
  /** Projects whose envelopes are accepted. */
  all: readonly Project[]
  /** Projects to which envelopes are sent: all of them, and the mirrors. */
  destinations: readonly Project[]
  /** Mirrors, each with the project whose envelopes it gets. */
  mirrors: readonly { source: Project; target: Project }[]
  /** Returns a destination. */
  byKey(key: string): Project | undefined
  /** Returns the project of a DSN that is no longer configured, if another DSN of it is: with another key, or at another path of its host. */
  successorOf(key: string): Project | undefined
  /** Returns where a stored envelope of a DSN is delivered: to its project, or its successor. */
  destinationOf(key: string): Project | undefined
  /** Returns `host/project`, also for a project that is no longer configured. */
  nameOf(key: string): string
  /** Returns the first project that the query does not contradict. */
  find(query: PostedQuery): Project | undefined
  /** Returns the project of an envelope. Throws a `Rejection` when it is unknown, or the query contradicts it. */
  resolve(dsn: unknown, query: PostedQuery): Project
}

/**
 * End of the keys of mirrors. It distinguishes deliveries to them from those of a project that replaces its former mirror, and from
 * those of the projects of other releases. DSNs may have this end (`parseDsn`).
 */
export const MIRROR_MARK = '#mirror'

/** Reports whether a key is that of a mirror, which may not be configured any more. */
export function isMirrorKey(key: string): boolean {
  return key.endsWith(MIRROR_MARK)
}

/** Returns the key of the mirror that leads to the same DSN. */
export function mirrorKeyOf(key: string): string {
  return isMirrorKey(key) ? key : `${key}${MIRROR_MARK}`
}

/** Returns the name of the share of the spool that a project has. All mirrors have one together. */
export function shareOf(key: string): string {
  return isMirrorKey(key) ? MIRROR_MARK : key
}

export function createProjects(dsns: readonly Dsn[], pairs: readonly Mirror[] = []): Projects {
  const byDsn = new Map(dsns.map((dsn) => [keyOf(dsn), describe(dsn)]))
  const all = [...byDsn.values()]
  // SDKs usually write exactly this text, which needs no parsing.
  const byText = new Map(all.map((project) => [project.key, project]))
  const targets = new Map(pairs.map(({ target }) => [keyOf(target), describeMirror(target)]))
  const mirrors = pairs.flatMap((pair) => {
    const [source, target] = [byDsn.get(keyOf(pair.source)), targets.get(keyOf(pair.target))]
    return source && target ? [{ source, target }] : []
  })
  const destinations = [...all, ...targets.values()]
  const byDestination = new Map(destinations.map((project) => [project.key, project]))
  const byKey = (key: string) => byDestination.get(key)
  const destinationOf = (key: string) => byKey(key) ?? successorOf(key)
  return { all, destinations, mirrors, byKey, successorOf, destinationOf, nameOf, find, resolve }

  function successorOf(key: string): Project | undefined {
    const former = parseDsn(key)
    if (!former || byKey(key)) return undefined
    const same = destinations.filter(({ dsn }) => isSameProject(dsn, former))
    return same.find(({ dsn }) => dsn.publicKey === former.publicKey) ?? same[0]
  }

  function nameOf(key: string): string {
    const dsn = parseDsn(key)
    return byKey(key)?.name ?? (dsn ? describe(dsn).name : 'unknown')
  }

  function find(query: PostedQuery): Project | undefined {
    return all.find((project) => disagreement(project, query) === undefined)
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
    if (only && others.length > 0)
      throw new Rejection(
        'dsn-missing',
        'Several DSNs in SENTRY_DSN match the query, so only the DSN can tell which.',
      )
    if (!only) throw new Rejection('dsn-missing')
    return only
  }
}

/** Identifies a DSN by host, project and key. The scheme does not matter, since the table's is used. */
function keyOf({ publicKey, host, port, path, projectId }: Dsn): string {
  return `${publicKey}@${host}:${port}/${path}/${projectId}`
}

function describe(dsn: Dsn): Project {
  const prefix = dsn.path ? `/${dsn.path}` : ''
  // `hsts=0` keeps Sentry's cloud from sending HSTS for the customer's host.
  const identifiers = identifiersOf(dsn)
  const hsts = identifiers.o ? '&hsts=0' : ''
  return {
    dsn,
    identifiers,
    key: formatDsn(dsn),
    name: `${dsn.host}${dsn.port && `:${dsn.port}`}/${dsn.projectId}`,
    origin: originOf(dsn),
    endpoint: `${prefix}/api/${dsn.projectId}/envelope/?sentry_key=${dsn.publicKey}&sentry_version=7${hsts}`,
  }
}

function describeMirror(dsn: Dsn): Project {
  const project = describe(dsn)
  return { ...project, key: mirrorKeyOf(project.key) }
}

const IDENTIFIERS = ['p', 'o', 'r'] as const

function checkQuery(project: Project, query: PostedQuery): void {
  const name = disagreement(project, query)
  if (name) throw new Rejection('query-mismatch', `The value of ${name} in the query differs from the DSN.`)
}

/** Returns the first identifier of the query that contradicts the DSN. Only Sentry's cloud has `o` and `r`. */
function disagreement({ identifiers: own }: Project, query: PostedQuery): 'p' | 'o' | 'r' | undefined {
  return IDENTIFIERS.find((name) => query[name] !== undefined && query[name] !== own[name])
}
