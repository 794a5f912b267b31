/** Detection of a proxy in front of nginx that hides the visitors' addresses: the sign of a missing `TRUSTED_PROXIES`. */

import { isIP } from 'node:net'

/**
 * A site with a public name is visited from the internet. Tests on one's own machine or network ask for `localhost` or a private address,
 * and a request from the site's own machine now and then is no sign either.
 */
export class ProxyDetection {
  #visitors = 0
  #hidden = 0
  #proxy: string | undefined

  /** Counts a request from a public address. */
  noteVisitor(): void {
    this.#visitors++
  }

  /** Counts a request from a private address, by the name that it asked for. */
  noteHidden(address: string, host: string | undefined): void {
    if (!isPublicName(host)) return
    this.#hidden++
    this.#proxy ??= address
  }

  /** Returns the first private address when most requests come from such. */
  proxyAddress(): string | undefined {
    return this.#hidden > this.#visitors ? this.#proxy : undefined
  }
}

const PRIVATE =
  /^(10\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|::1$|f[cd]|fe80:)/i

export function isPrivate(address: string): boolean {
  return PRIVATE.test(address)
}

const OWN_NAME = /(^|\.)(localhost|local|internal|test|lan|home\.arpa)$/i

function isPublicName(host = ''): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  if (isIP(name) !== 0) return !isPrivate(name)
  return name.includes('.') && !OWN_NAME.test(name)
}
