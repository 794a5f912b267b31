/** Results of one project on its server, of live envelopes and of those from the spool. */

import { isRefusal } from './answers.ts'
import type { DeliveryResult } from './request.ts'
import { upstreamErrorOf } from './upstream-errors.ts'

/** Refusals in a row: a 4xx that is not the server's own. Times are monotonic, in milliseconds. */
export type Refusal = {
  status: number
  /** Text of the last response. */
  message?: string | undefined
  first: number
  last: number
  count: number
  /** Time of the last failure among them, or of the first one: the proxy of a server that is away may refuse some of the requests. */
  onlySince: number
}

/** Failures or refusals in a row, after which all envelopes of the project are expected to have them. */
const MANY = 5
/** Refusals further apart are not in a row: the server may have been away meanwhile. Longer than an entry is put off. */
const MAX_GAP_MS = 10 * 60_000

export class ProjectHealth {
  readonly #clock: () => number
  #passes = 0
  #failures = 0
  #refusal: Refusal | undefined

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Number of decisions: envelopes that the server has accepted, declined or rate-limited. */
  get passes(): number {
    return this.#passes
  }

  /** Refusals since the last decision; `undefined` for none. */
  get refusal(): Refusal | undefined {
    return this.#refusal
  }

  /** Returns `true` when the server refuses all envelopes, as for a project that it does not know. */
  isRefused(): boolean {
    const { count = 0, last = 0 } = this.#refusal ?? {}
    return count >= MANY && this.#clock() - last <= MAX_GAP_MS
  }

  /** Returns `true` when all envelopes fail. */
  isFailing(): boolean {
    return this.#failures >= MANY
  }

  note(result: DeliveryResult): void {
    if (result.kind === 'answered') {
      this.#passes++
      this.#failures = 0
      this.#refusal = undefined
      return
    }
    const { status, message } = result
    if (status !== undefined && isRefusal(status)) this.#refuse(status, message)
    else if (upstreamErrorOf(result)) this.#fail()
  }

  #fail(): void {
    this.#failures++
    if (this.#refusal) this.#refusal = { ...this.#refusal, onlySince: this.#clock() }
  }

  #refuse(status: number, message: string | undefined): void {
    const now = this.#clock()
    const isInRow = this.#refusal !== undefined && now - this.#refusal.last <= MAX_GAP_MS
    const { first = now, onlySince = now, count = 0 } = (isInRow && this.#refusal) || {}
    this.#refusal = { status, message, first, last: now, count: count + 1, onlySince }
  }
}
