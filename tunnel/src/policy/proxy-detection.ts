/** Whether something in front of nginx hides who the visitors are: the sign of a missing `TRUSTED_PROXIES`. */

import { isIP } from 'node:net'

export type ProxyDetection = {
  /** Somebody asked for `host`, from an address of the internet. */
  seen(): void
  /** Somebody asked for `host`, from an address that nobody on the internet has. */
  unseen(address: string, host: string | undefined): void
  /** The first address that such came from, where most do. */
  behind(): string | undefined
}

/**
 * A site that is asked for by a public name is visited from the internet; whoever tries it on their own machine or network asks for
 * `localhost` or a private address, and comes from one. A look at the site from its own machine now and then is no sign either.
 */
export function createProxyDetection(): ProxyDetection {
  let shown = 0
  let hidden = 0
  let proxy: string | undefined
  return { seen, unseen, behind: () => (hidden > shown ? proxy : undefined) }

  function seen(): void {
    shown++
  }

  function unseen(address: string, host: string | undefined): void {
    if (!isPublicName(host)) return
    hidden++
    proxy ??= address
  }
}

const PRIVATE =
  /^(10\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|::1$|f[cd]|fe80:)/i

/** Of this machine or of a network of its own, IPv4 or IPv6. */
export function isPrivate(address: string): boolean {
  return PRIVATE.test(address)
}

const OWN_NAME = /(^|\.)(localhost|local|internal|test|lan|home\.arpa)$/i

function isPublicName(host = ''): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  if (isIP(name) !== 0) return !isPrivate(name)
  return name.includes('.') && !OWN_NAME.test(name)
}
