/** Host names by which requests reach a server, against DNS rebinding: a page whose name suddenly leads to this machine. */

import { isIP } from 'node:net'

/** Names that nobody else can own: of this machine or its network (RFC 6761, RFC 6762, RFC 8375), and those without a dot. */
const OWN_NAME = /(^|\.)(localhost|local|internal|test|lan|home\.arpa)$|^[^.]*$/

/** Reports whether a name is of this machine or its network, so that no other site can have it. */
export function isOwnName(name: string): boolean {
  return OWN_NAME.test(name.toLowerCase())
}

/** Returns the name or address of a `Host` header without its port, brackets and a final dot. */
export function nameOfHost(host: string): string {
  const [, address, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? []
  return (address ?? name.replace(/\.$/, '')).toLowerCase()
}

/** Reports whether a server that listens at this host can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return /^(localhost$|127\.|::1$)/.test(host)
}

/** The set of names that `ALLOWED_HOSTS` describes, with own names and addresses. Without a name, it has every host. */
export class AllowedHosts {
  readonly #exact: ReadonlySet<string>
  readonly #suffixes: readonly string[]

  constructor(entries: readonly string[]) {
    const names = entries.map((entry) => entry.toLowerCase())
    this.#exact = new Set(names)
    this.#suffixes = names.filter((name) => name.startsWith('*.')).map((name) => name.slice(1))
  }

  /** `host` is the value of the header, absent in a request that no browser sends. */
  has(host: string | undefined): boolean {
    if (host === undefined || this.#exact.size === 0) return true
    const name = nameOfHost(host)
    if (isIP(name) !== 0 || isOwnName(name) || this.#exact.has(name)) return true
    return this.#suffixes.some((suffix) => name.endsWith(suffix))
  }
}
