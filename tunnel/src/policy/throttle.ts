/** Our own limits: how much one client address and one project may send, the least important kinds of items given up first. */

import { isIPv4 } from 'node:net'
import type { RateLimitedReason } from '../contract.ts'
import { addDependants, CATEGORY_NAMES, categoriesOf, type Item } from '../envelope/items.ts'
import type { Envelope } from '../envelope/reader.ts'
import type { Context, Outcome, Stage } from '../pipeline.ts'
import { createProxyDetection, isPrivate } from './proxy-detection.ts'
import { rateLimited } from './rate-limits.ts'

export type ThrottleSettings = {
  /** Envelopes a second that one client address, and one project, may keep up; 0 for no limit. */
  addressRate: number
  projectRate: number
  /** Envelopes that may come at once. */
  addressBurst: number
  projectBurst: number
  /** Body bytes a second of one client address; 0 for no limit. */
  addressBytes: number
}

export type Throttle = {
  /**
   * Takes a body of an address into account, whatever becomes of it. Gives the part of its limit that is left, below 0 when it was
   * used up before. `host` is by which name the site was asked for.
   */
  charge(address: string | undefined, wireBytes: number, host?: string): number
  /**
   * Takes further bytes of a body into account: what it holds unpacked beyond its bytes on the wire. One body may overdraw the limit;
   * `false` when several that are unpacked at one time have overdrawn it by more than `overdraftBytes`.
   */
  chargeUnpacked(address: string | undefined, bytes: number, overdraftBytes: number): boolean
  /** Takes an envelope of a proven project into account, and gives the items to shed; `left` is what `charge` gave. */
  throttle(left: number, project: string, envelope: Envelope): Set<Item>
  /** Client addresses remembered now. */
  addresses(): number
  /** An address that is a proxy's, not a visitor's: the sign of a missing `TRUSTED_PROXIES`. */
  proxyAddress(): string | undefined
}

/** Told to senders with what was shed: soon, since a bucket fills quickly. */
export const THROTTLE_SECONDS = 10

/** Charges the bytes on the wire to the client address. Ends the pipeline when its limit was used up. */
export function chargeAddressStage(throttle: Throttle): Stage {
  return function chargeAddress(ctx) {
    const { body, client, incoming } = ctx
    ctx.receipt.bytes = body.wireBytes
    ctx.addressBudget = throttle.charge(client.address, body.wireBytes, incoming.headers.host)
    return ctx.addressBudget < 0 ? addressLimited(ctx) : undefined
  }
}

/** Charges the envelope to its project, and removes the items that exceed the limits. */
export function throttleStage(throttle: Throttle): Stage {
  return function throttleItems(ctx) {
    const shed = throttle.throttle(ctx.addressBudget, ctx.project.name, ctx.remaining())
    ctx.remove(shed, 'throttled' satisfies RateLimitedReason)
    return undefined
  }
}

/** Builds the outcome for a client address whose limit is used up. It names every category, since a limit that names none holds back all. */
export function addressLimited(ctx: Context): Outcome {
  const all = { seconds: THROTTLE_SECONDS, categories: [...CATEGORY_NAMES] }
  return rateLimited(ctx, 'throttled', 'Its sender has sent too much.', [all])
}

const MAX_ADDRESSES = 50_000
const NOTHING: Set<Item> = new Set()

/**
 * How much of a bucket must be left for an item to pass, by category: replays go when it is half empty, errors, feedback and
 * check-ins only when it is empty.
 */
const RESERVED: Readonly<Record<string, number>> = {
  replay: 0.5,
  profile: 0.4,
  profile_chunk: 0.4,
  profile_chunk_ui: 0.4,
  transaction: 0.3,
  span: 0.3,
  log_item: 0.2,
  trace_metric: 0.2,
  metric_bucket: 0.2,
  session: 0.1,
}

type Bucket = { level: number; byteLevel: number; time: number }

/** `clock` is in milliseconds. */
export function createThrottle(settings: ThrottleSettings, clock: () => number): Throttle {
  let young = new Map<string, Bucket>()
  let old = new Map<string, Bucket>()
  const byProject = new Map<string, Bucket>()
  const visitors = createProxyDetection()
  return {
    charge,
    chargeUnpacked,
    throttle,
    addresses: () => young.size + old.size,
    proxyAddress: visitors.behind,
  }

  function throttle(mine: number, project: string, { items }: Envelope): Set<Item> {
    const left = mine < 0 ? mine : Math.min(mine, leftForProject(project)) // who is over their own limit takes nothing from others
    if (left >= 0.5) return NOTHING
    const throttled = new Set(items.filter((item) => !passes(item, left)))
    addDependants(items, throttled)
    return throttled
  }

  function charge(address: string | undefined, wireBytes: number, host?: string): number {
    if (address === undefined || settings.addressRate + settings.addressBytes === 0) return 1
    const network = networkOf(address)
    if (network === '') {
      visitors.unseen(address, host)
      return 1
    }
    visitors.seen()
    const bucket = remember(network)
    refill(bucket, settings.addressRate, settings.addressBurst)
    const envelopes = settings.addressRate === 0 ? 1 : spend(bucket, settings.addressBurst)
    return Math.min(envelopes, spendBytes(bucket, wireBytes))
  }

  function chargeUnpacked(address: string | undefined, bytes: number, overdraftBytes: number): boolean {
    const network = networkOf(address)
    if (settings.addressBytes === 0 || network === '') return true
    const bucket = remember(network)
    refill(bucket, settings.addressRate, settings.addressBurst)
    bucket.byteLevel -= bytes
    return bucket.byteLevel > -overdraftBytes
  }

  function leftForProject(project: string): number {
    if (settings.projectRate === 0) return 1
    const bucket = byProject.get(project) ?? newBucket(settings.projectBurst)
    byProject.set(project, bucket) // bounded by the table of projects
    refill(bucket, settings.projectRate, settings.projectBurst)
    return spend(bucket, settings.projectBurst)
  }

  /** Two generations: who is seen again moves to the young one, and the old one is forgotten as a whole. */
  function remember(network: string): Bucket {
    const known = young.get(network)
    if (known) return known
    const bucket = old.get(network) ?? newBucket(settings.addressBurst)
    old.delete(network)
    if (young.size >= MAX_ADDRESSES / 2) {
      old = young
      young = new Map()
    }
    young.set(network, bucket)
    return bucket
  }

  function newBucket(burst: number): Bucket {
    return { level: burst, byteLevel: byteBurst(), time: clock() }
  }

  function byteBurst(): number {
    return settings.addressBytes * 10
  }

  function refill(bucket: Bucket, rate: number, burst: number): void {
    const time = clock()
    const seconds = (time - bucket.time) / 1000
    bucket.level = Math.min(burst, bucket.level + rate * seconds)
    bucket.byteLevel = Math.min(byteBurst(), bucket.byteLevel + settings.addressBytes * seconds)
    bucket.time = time
  }

  function spend(bucket: Bucket, burst: number): number {
    if (bucket.level < 1) return -1
    bucket.level -= 1
    return bucket.level / burst
  }

  function spendBytes(bucket: Bucket, bytes: number): number {
    if (settings.addressBytes === 0) return 1
    if (bucket.byteLevel <= 0) return -1
    bucket.byteLevel -= bytes // one large envelope may overdraw: it has arrived anyway
    return Math.max(0, bucket.byteLevel / byteBurst())
  }
}

function passes(item: Item, left: number): boolean {
  const [category] = categoriesOf(item)
  if (category === undefined) return left >= 0
  return left >= (RESERVED[category] ?? 0)
}

/** What an address is counted under: one subscriber has a whole /64 of IPv6. Empty for none, and for one that is a proxy's. */
export function networkOf(address: string | undefined): string {
  if (address === undefined || isPrivate(address)) return ''
  return isIPv4(address) ? address : expandIPv6(address).slice(0, 4).join(':')
}

function expandIPv6(address: string): string[] {
  const [head = '', tail] = address.split('::')
  const before = head.split(':').filter(Boolean)
  if (tail === undefined) return before
  const after = tail.split(':').filter(Boolean)
  return [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after]
}
