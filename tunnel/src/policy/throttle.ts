/** Our own rate limits by client address. The least important kinds of items are removed first. */

import type { RateLimitedReason } from 'contract/admin-api'
import { CATEGORY_NAMES } from 'contract/categories'
import { type CountedNetwork, networkOf, networksAround } from 'contract/networks'
import { THROTTLE_SECONDS } from 'contract/rate-limits'
import { addDependants, categoriesOf, type Item } from '../envelope/items.ts'
import type { Envelope } from '../envelope/reader.ts'
import type { Outcome, Stage } from '../pipeline/pipeline.ts'
import { LimitCounters } from './limit-counters.ts'
import { type Refusable, rateLimited } from './rate-limited.ts'

export type ThrottleSettings = {
  /** Sustained envelopes per second of one client address; 0 for no limit. */
  addressRate: number
  /** Envelopes that may arrive at once. */
  addressBurst: number
  /** Body bytes per second of one client address; 0 for no limit. */
  addressBytes: number
}

/** Share of an address's limit that browser reports leave to errors of the same visitor. A policy may cause hundreds of reports. */
export const RESERVED_FROM_REPORTS = 0.2

/** Charges the bytes on the wire to the client address. Ends the pipeline when its limit was used up. */
export function chargeAddressStage(
  throttle: Throttle,
  reserved = 0,
): Stage<'body' | keyof Refusable, 'addressBudget' | 'receipt'> {
  return function chargeAddress(ctx) {
    const { body, client } = ctx
    ctx.receipt.bytes = body.wireBytes
    ctx.addressBudget = throttle.charge(client.address, body.wireBytes, reserved)
    return ctx.addressBudget < 0 ? addressLimited(ctx) : undefined
  }
}

/** Removes the items that exceed the limit of the client address. */
export function throttleStage(throttle: Throttle): Stage<'addressBudget' | 'remaining', 'remove'> {
  return function throttleItems(ctx) {
    const throttled = throttle.throttle(ctx.addressBudget, ctx.remaining())
    ctx.remove(throttled, 'throttled' satisfies RateLimitedReason)
    return undefined
  }
}

/** Builds the outcome for a client address whose limit is used up. It names all categories, since a limit without categories holds back everything. */
export function addressLimited(
  ctx: Refusable,
  cause = 'Its client address has exceeded a rate limit of this tunnel.',
): Outcome {
  const all = { seconds: THROTTLE_SECONDS, categories: [...CATEGORY_NAMES] }
  return rateLimited(ctx, 'throttled', cause, [all])
}

const NETWORKS = 25_000
const BURST_SECONDS = 10
const NO_ITEMS: ReadonlySet<Item> = new Set()

/** Remaining share of the limit below which an item is removed. Errors, feedback and check-ins pass until the limit is used up. */
const RESERVED: Readonly<Record<string, number>> = {
  replay: 0.5,
  profile: 0.4,
  profile_chunk: 0.4,
  profile_chunk_ui: 0.4,
  transaction: 0.3,
  span: 0.3,
  security: RESERVED_FROM_REPORTS,
  log_item: 0.2,
  trace_metric: 0.2,
  metric_bucket: 0.2,
  session: 0.1,
}

/** Token bucket of each network. */
type Buckets = { used: LimitCounters; burst: number }

/** Token buckets of client networks. An address counts for each network around it. Levels are returned as shares from 0 to 1, or below 0 when the limit was used up. */
export class Throttle {
  readonly #envelopes: Buckets
  readonly #bytes: Buckets

  /** `now` is in milliseconds of a monotonic clock. */
  constructor({ addressRate, addressBurst, addressBytes }: ThrottleSettings, now: () => number) {
    const bucketsOf = (perSecond: number, burst: number): Buckets => ({
      used: new LimitCounters({ now, keys: NETWORKS, perSecond }),
      burst: perSecond === 0 ? 0 : burst,
    })
    this.#envelopes = bucketsOf(addressRate, addressBurst)
    this.#bytes = bucketsOf(addressBytes, addressBytes * BURST_SECONDS)
  }

  /**
   * Charges a body to the client address, whatever its outcome, and returns the share of the limit that is left. A body that would use the
   * `reserved` share is not charged: the limit counts as used up for it.
   */
  charge(address: string | undefined, wireBytes: number, reserved = 0): number {
    if (address === undefined || this.#envelopes.burst + this.#bytes.burst === 0) return 1
    const network = networkOf(address)
    if (network === '') return 1
    const networks = networksAround(network)
    const envelopes = chargeBuckets(this.#envelopes, networks, 1, reserved)
    return Math.min(envelopes, chargeBuckets(this.#bytes, networks, wireBytes, reserved))
  }

  /**
   * Charges the decompressed bytes beyond those on the wire. One body may overdraw the limit; returns `false` when several that are
   * decompressed at the same time have overdrawn it by more than `overdraftBytes`.
   */
  chargeDecompressed(address: string | undefined, bytes: number, overdraftBytes: number): boolean {
    const { used, burst } = this.#bytes
    return burst === 0 || used.addToAll(networksAround(networkOf(address)), bytes) < burst + overdraftBytes
  }

  /** Returns the items to remove. `left` is the result of `charge`. */
  throttle(left: number, { items }: Envelope): ReadonlySet<Item> {
    if (left >= 0.5) return NO_ITEMS
    const throttled = new Set(items.filter((item) => !passes(item, left)))
    addDependants(items, throttled)
    return throttled
  }

  /** Client networks in memory. */
  addresses(): number {
    return Math.max(this.#envelopes.used.size, this.#bytes.used.size)
  }
}

/** Charges an amount, and returns the share of the burst that is left; -1 when nothing was left. A body has arrived: its bytes may exceed the limit. */
function chargeBuckets(
  { used, burst }: Buckets,
  networks: readonly CountedNetwork[],
  amount: number,
  reserved: number,
): number {
  if (burst === 0) return 1
  if (used.wouldExceed(networks, 1, burst * (1 - reserved))) return -1
  return Math.max(0, (burst - used.addToAll(networks, amount)) / burst)
}

function passes(item: Item, left: number): boolean {
  const [category] = categoriesOf(item)
  if (category === undefined) return left >= 0
  return left >= (RESERVED[category] ?? 0)
}
