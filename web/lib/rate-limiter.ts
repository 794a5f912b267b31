/** Rate limit per address and for all addresses together. */

type AllowanceSettings = { perAddress: number; inAll: number; windowMs: number }

/** Reports whether a request is allowed, and counts it if so. Holds `inAll` entries at most. `now` in milliseconds. */
type Allowance = (address: string) => boolean

export function createAllowance(
  { perAddress, inAll, windowMs }: AllowanceSettings,
  now: () => number,
): Allowance {
  let taken: { address: string; time: number }[] = []
  return function take(address) {
    const time = now()
    taken = taken.filter((each) => each.time > time - windowMs)
    const mine = taken.filter((each) => each.address === address)
    if (taken.length >= inAll || mine.length >= perAddress) return false
    taken.push({ address, time })
    return true
  }
}
