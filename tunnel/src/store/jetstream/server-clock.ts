/** Clock of the NATS servers, by which the times in the streams are told: a wrong clock of one machine does no harm to the others. */

import type { SpoolEntry } from '../../pipeline/spool.ts'

type Times = Partial<Pick<SpoolEntry, 'received' | 'resent'>>

const DIFFER_MS = 5_000 // synchronised clocks differ by less, the time of a response included

export class ServerClock {
  /** Clock of this machine, in milliseconds since 1970. */
  readonly now: () => number
  /** Milliseconds by which the server's clock is ahead of the monotonic one of this process. */
  #aheadMs: number | undefined

  constructor(now: () => number) {
    this.now = now
  }

  /** Learns the time of a response that arrived now. */
  learn(time: number): void {
    this.#aheadMs = time - performance.now()
  }

  serverNow(): number {
    return this.#aheadMs === undefined ? this.now() : Math.round(performance.now() + this.#aheadMs)
  }

  /** Returns the milliseconds by which the server's clock is ahead; 0 where both agree within seconds. */
  readonly offsetMs = (): number => {
    const aheadMs = this.serverNow() - this.now()
    return Math.abs(aheadMs) < DIFFER_MS ? 0 : Math.round(aheadMs)
  }

  toServer(time: number): number {
    return time + this.offsetMs()
  }

  toLocal(time: number): number {
    return time - this.offsetMs()
  }

  /** Returns a value with times of the server instead of this machine. */
  withServerTimes<T extends Times>(value: T): T {
    return shift(value, this.offsetMs())
  }

  /** Returns a value with times of this machine instead of the server. */
  withLocalTimes<T extends Times>(value: T): T {
    return shift(value, -this.offsetMs())
  }
}

function shift<T extends Times>(value: T, ms: number): T {
  const { received, resent } = value
  return {
    ...value,
    ...(received !== undefined && { received: received + ms }),
    ...(resent !== undefined && { resent: resent + ms }),
  }
}
