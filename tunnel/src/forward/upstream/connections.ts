/** Connections to one upstream: a limit, and one queue each for small and for large bodies. */

/** Request that waits for a connection, or holds one. */
export type Job = { readonly bytes: number; readonly start: () => void }

const LARGE_BYTES = 1024 * 1024
const LARGE_SHARE = 0.25 // of the connections, so that small bodies do not wait for large ones
const LIVE_SHARE = 0.25 // of the connections, which deliveries from the spool leave to live traffic

export class Connections {
  readonly #max: number
  readonly #maxLarge: number
  readonly #maxSpooled: number
  readonly #small = new Set<Job>()
  readonly #large = new Set<Job>()
  #active = 0 // a set that changes with each request keeps what it held until a full garbage collection
  #activeLarge = 0

  constructor(max: number) {
    this.#max = max
    this.#maxLarge = Math.max(1, Math.floor(max * LARGE_SHARE))
    this.#maxSpooled = max - Math.floor(max * LIVE_SHARE)
  }

  /** Starts the job at once, or when a connection for a body of its size is free. */
  add(job: Job): void {
    if (this.#hasRoomFor(job)) this.#start(job)
    else this.#queueOf(job).add(job)
  }

  /** Ends a job, also one that has not started. */
  release(job: Job): void {
    if (this.#queueOf(job).delete(job)) return
    this.#active--
    if (isLarge(job)) this.#activeLarge--
    const next = this.#next()
    if (!next) return
    this.#queueOf(next).delete(next)
    this.#start(next)
  }

  /** Returns how many more deliveries may begin from the spool, of which `active` are under way. */
  spare(active: number): number {
    return Math.max(0, Math.min(this.#max - this.#active, this.#maxSpooled - active))
  }

  #start(job: Job): void {
    this.#active++
    if (isLarge(job)) this.#activeLarge++
    job.start()
  }

  /** Finds the job to start. Large bodies have a small share of the connections, and are the first to get it. */
  #next(): Job | undefined {
    const [large] = this.#large
    const [small] = this.#small
    return [large, small].find((job) => job && this.#hasRoomFor(job))
  }

  #hasRoomFor(job: Job): boolean {
    return this.#active < this.#max && !(isLarge(job) && this.#activeLarge >= this.#maxLarge)
  }

  #queueOf(job: Job): Set<Job> {
    return isLarge(job) ? this.#large : this.#small
  }
}

/** `true` for a body that must not delay small ones. */
export function isLarge({ bytes }: Pick<Job, 'bytes'>): boolean {
  return bytes > LARGE_BYTES
}
