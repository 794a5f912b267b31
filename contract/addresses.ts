/** Parts of addresses: `host:port`, or a port alone, as nginx listens on it. */

/** Matches this machine, or this container: its loopback addresses, and those that mean all its addresses. */
const LOCAL_HOST =
  /^(|\*|(.+\.)?localhost\.?|0\.0\.0\.0|127(\.\d+){3}|\[::1?\]|\[::ffff:(7f[\da-f]{2}:[\da-f]+|0:0)\])$/

export function portOf(address: string): number {
  return Number(address.replace(/.*:/, ''))
}

/** Returns the host; empty for a port alone. */
export function hostOf(address: string): string {
  return address.replace(/:?\d+$/, '').toLowerCase()
}

/** Returns whether connections to `authority` reach a listener at `address`. */
export function leadsTo(authority: string, address: string): boolean {
  const isReached = isLocal(address) ? isLocal(authority) : hostOf(address) === hostOf(authority)
  return isReached && portOf(address) === portOf(authority)
}

/** Returns whether the host means this machine: in a container, the container itself. */
export function isLocal(address: string): boolean {
  const host = hostOf(address)
  return LOCAL_HOST.test(URL.parse(`http://${host}`)?.hostname ?? host) // the URL parser writes 127.1 and 0x7f.1 as 127.0.0.1
}
