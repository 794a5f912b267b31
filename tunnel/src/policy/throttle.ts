/** Our own rate limits, by client address and by project. The least important kinds of items are removed first. */

import type { RateLimitedReason } from 'contract/admin-api'
import { CATEGORY_NAMES } from 'contract/categories'
import { type CountedNetwork, networkOf, networksAround } from 'contract/networks'
import { THROTTLE_SECONDS } from 'contract/rate-limits'
import { addDependants, categoriesOf, type Item } from '../envelope/items.ts'
import type { Envelope } from '../envelope/reader.ts'
import type { Context, Outcome, Stage } from '../pipeline.ts'
import { ProxyDetection } from './proxy-detection.ts'
import { rateLimited } from './rate-limits.ts'

export type ThrottleSettings = {
  /** Sustained envelopes per second of one client address, and of one project; 0 for no limit. */
  addressRate: number
  projectRate: number
  /** Envelopes that may arrive at once. */
  addressBurst: number
  projectBurst: number
  /** Body bytes per second of one client address; 0 for no limit. */
  addressBytes: number
}

/** Share of an address's limit that browser reports leave to errors of the same visitor. A policy may cause hundreds of reports. */
export const RESERVED_FROM_REPORTS = 0.2

/** Charges the bytes on the wire to the client address. Ends the pipeline when its limit was used up. */
export function chargeAddressStage(throttle: Throttle, reserved = 0): Stage {
  return function chargeAddress(ctx) {
    const { body, client, incoming } = ctx
    ctx.receipt.bytes = body.wireBytes
    ctx.addressBudget = throttle.charge(client.address, body.wireBytes, incoming.headers.host, reserved)
    return ctx.addressBudget < 0 ? addressLimited(ctx) : undefined
  }
}

/** Charges the envelope to its project, and removes the items that exceed the limits. */
export function throttleStage(throttle: Throttle): Stage {
  return function throttleItems(ctx) {
    const throttled = throttle.throttle(ctx.addressBudget, ctx.project.name, ctx.remaining())
    ctx.remove(throttled, 'throttled' satisfies RateLimitedReason)
    return undefined
  }
}

/** Builds the outcome for a client address whose limit is used up. It names all categories, since a limit without categories holds back everything. */
export function addressLimited(
  ctx: Context,
  cause = 'Its client address has exceeded a rate limit of this tunnel.',
): Outcome {
  const all = { seconds: THROTTLE_SECONDS, categories: [...CATEGORY_NAMES] }
  return rateLimited(ctx, 'throttled', cause, [all])
}

const MAX_NETWORKS = 50_000
const NO_ITEMS: ReadonlySet<Item> = new Set()

/** Share of the limit that must be left for an item to pass. Errors, feedback and check-ins pass until it is used up. */
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

/** `factor` multiplies rate and burst. */
type Bucket = { level: number; byteLevel: number; time: number; factor: number }

/** Token buckets of client networks and projects. An address counts for each network around it. Levels are returned as shares from 0 to 1, or below 0 when the limit was used up. */
export class Throttle {
  readonly #settings: ThrottleSettings
  readonly #clock: () => number
  readonly #byteBurst: number
  // Two generations: a network seen again moves to the young one, and the old one is dropped as a whole.
  #young = new Map<string, Bucket>()
  #old = new Map<string, Bucket>()
  readonly #byProject = new Map<string, Bucket>() // bounded by the configured projects
  readonly #proxyDetection = new ProxyDetection()

  /** `clock` is in milliseconds. */
  constructor(settings: ThrottleSettings, clock: () => number) {
    this.#settings = settings
    this.#clock = clock
    this.#byteBurst = settings.addressBytes * 10
  }

  /**
   * Charges a body to the client address, whatever its outcome, and returns the share of the limit that is left. A body that would use the
   * `reserved` share is not charged: the limit counts as used up for it.
   */
  charge(address: string | undefined, wireBytes: number, host?: string, reserved = 0): number {
    const { addressRate, addressBurst, addressBytes } = this.#settings
    if (address === undefined || addressRate + addressBytes === 0) return 1
    const network = networkOf(address)
    if (network === '') {
      this.#proxyDetection.noteHidden(address, host)
      return 1
    }
    this.#proxyDetection.noteVisitor()
    const buckets = this.#bucketsOf(network)
    const left = addressRate === 0 ? 1 : spend(buckets, addressBurst, reserved)
    return Math.min(left, this.#spendBytes(buckets, wireBytes, reserved))
  }

  /**
   * Charges the decompressed bytes beyond those on the wire. One body may overdraw the limit; returns `false` when several that are
   * decompressed at the same time have overdrawn it by more than `overdraftBytes`.
   */
  chargeDecompressed(address: string | undefined, bytes: number, overdraftBytes: number): boolean {
    if (this.#settings.addressBytes === 0) return true
    const buckets = this.#bucketsOf(networkOf(address))
    for (const bucket of buckets) bucket.byteLevel -= bytes
    return buckets.every(({ byteLevel, factor }) => byteLevel > -overdraftBytes * factor)
  }

  /** Charges an envelope to its project and returns the items to remove. `addressLeft` is the result of `charge`. */
  throttle(addressLeft: number, project: string, { items }: Envelope): ReadonlySet<Item> {
    // An address over its limit does not use up the project's.
    const left = addressLeft < 0 ? addressLeft : Math.min(addressLeft, this.#chargeProject(project))
    if (left >= 0.5) return NO_ITEMS
    const throttled = new Set(items.filter((item) => !passes(item, left)))
    addDependants(items, throttled)
    return throttled
  }

  /** Client networks in memory. */
  addresses(): number {
    return this.#young.size + this.#old.size
  }

  /** Address of a proxy that hides the visitors: the sign of a missing `TRUSTED_PROXIES`. */
  proxyAddress(): string | undefined {
    return this.#proxyDetection.proxyAddress()
  }

  #chargeProject(project: string): number {
    const { projectRate, projectBurst } = this.#settings
    if (projectRate === 0) return 1
    const bucket = this.#byProject.get(project) ?? this.#newBucket(projectBurst, 1)
    this.#byProject.set(project, bucket)
    this.#refill(bucket, projectRate, projectBurst)
    return spend([bucket], projectBurst)
  }

  /** Returns the refilled buckets of a network and of those around it. */
  #bucketsOf(network: string): Bucket[] {
    const { addressRate, addressBurst } = this.#settings
    const buckets = networksAround(network).map((each) => this.#bucketOf(each))
    for (const bucket of buckets) this.#refill(bucket, addressRate, addressBurst)
    return buckets
  }

  #bucketOf({ name, factor }: CountedNetwork): Bucket {
    const known = this.#young.get(name)
    if (known) return known
    const bucket = this.#old.get(name) ?? this.#newBucket(this.#settings.addressBurst, factor)
    this.#old.delete(name)
    if (this.#young.size >= MAX_NETWORKS / 2) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(name, bucket)
    return bucket
  }

  #newBucket(burst: number, factor: number): Bucket {
    return { level: burst * factor, byteLevel: this.#byteBurst * factor, time: this.#clock(), factor }
  }

  #refill(bucket: Bucket, rate: number, burst: number): void {
    const time = this.#clock()
    const seconds = ((time - bucket.time) / 1000) * bucket.factor
    const bytes = bucket.byteLevel + this.#settings.addressBytes * seconds
    bucket.level = Math.min(burst * bucket.factor, bucket.level + rate * seconds)
    bucket.byteLevel = Math.min(this.#byteBurst * bucket.factor, bytes)
    bucket.time = time
  }

  #spendBytes(buckets: readonly Bucket[], bytes: number, reserved: number): number {
    const burst = this.#byteBurst
    if (burst === 0) return 1
    if (buckets.some(({ byteLevel, factor }) => byteLevel <= burst * factor * reserved)) return -1
    for (const bucket of buckets) bucket.byteLevel -= bytes // one large envelope may overdraw, since it has arrived
    return Math.max(0, Math.min(...buckets.map(({ byteLevel, factor }) => byteLevel / (burst * factor))))
  }
}

function spend(buckets: readonly Bucket[], burst: number, reserved = 0): number {
  if (buckets.some(({ level, factor }) => level < 1 + burst * factor * reserved)) return -1
  for (const bucket of buckets) bucket.level -= 1
  return Math.min(...buckets.map(({ level, factor }) => level / (burst * factor)))
}

function passes(item: Item, left: number): boolean {
  const [category] = categoriesOf(item)
  if (category === undefined) return left >= 0
  return left >= (RESERVED[category] ?? 0)
}
