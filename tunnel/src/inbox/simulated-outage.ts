/** Simulated outage of Sentry in inbox mode: envelopes are spooled, and delivered to the inbox when it ends. */

import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { MemoryBudget } from '../body/memory-budget.ts'
import { buildBody, decompressForSpool, type OutgoingBody } from '../body/outgoing.ts'
import { type Range, sizeOfRanges } from '../body/ranges.ts'
import type { Bodies } from '../body/receive.ts'
import type { SimulatedOutageStatus } from '../contract/inbox.ts'
import { networkOf } from '../networks.ts'
import { accepted, type Context, type Outcome, type Stage } from '../pipeline.ts'
import type { UpstreamLimits } from '../policy/upstream-limits.ts'
import type { Projects } from '../projects.ts'
import { Rejection } from '../rejections.ts'
import { Deliverer } from '../spool/delivery.ts'
import { createSpoolEntry } from '../spool/entry.ts'
import type { OnFinalOutcome } from '../spool/final-outcomes.ts'
import { MonitoredSpool } from '../spool/monitored.ts'
import type { SpoolEntry } from '../spool/spool.ts'
import { openSqliteSpool } from '../spool/sqlite/client.ts'
import { ENTRY_BYTES } from './enqueue.ts'
import type { Inbox } from './inbox.ts'
import { InboxUpstream, inboxHeaders } from './inbox-upstream.ts'
import { MAX_OUTAGE_MS } from './outage-table.ts'

type OutageDeps = {
  inbox: Inbox
  /** File of the inbox; the spool is beside it. */
  file: string
  /** Age in milliseconds at which a pending envelope expires. */
  maxAgeMs: number
  memory: MemoryBudget
  bodies: Bodies
  projects: Projects
  limits: UpstreamLimits
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
  onError: (error: unknown) => void
}

type Opened = { spool: MonitoredSpool; deliverer: Deliverer }

export const MAX_OUTAGE_SECONDS = MAX_OUTAGE_MS / 1000
const SUMMARY_BYTES = 64 * 1024 // at most
const BOUNDS = { bytes: 64 * 1024 * 1024, addressShare: 0.5, projectShare: 1 }

export class SimulatedOutage {
  readonly #deps: OutageDeps
  readonly #file: string
  #onFinalOutcome: OnFinalOutcome = () => {}
  #opening: Promise<Opened> | undefined

  constructor(deps: OutageDeps) {
    this.#deps = deps
    this.#file = join(dirname(deps.file), 'simulated-outage', 'spool.db')
  }

  /** Delivers what an earlier process has left in the spool. */
  async start(onFinalOutcome: OnFinalOutcome): Promise<void> {
    this.#onFinalOutcome = onFinalOutcome
    await this.#openIfUsed().catch(this.#deps.onError)
  }

  async stop(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    await opened?.deliverer.stop()
    await opened?.spool.close()
  }

  /**
   * Begins an outage, unless one is on. Returns the state, or `undefined` in the pause after an outage. Rejects when the spool cannot be
   * opened.
   */
  async begin(seconds: number): Promise<SimulatedOutageStatus | undefined> {
    const { pending } = await this.#open().then(() => this.status())
    const { outage } = this.#deps.inbox
    if (outage.begin(seconds * 1000)) {
      if (pending === 0) outage.reset()
    } else if (outage.remainingMs() === 0) return undefined
    return this.status()
  }

  end(): Promise<SimulatedOutageStatus> {
    this.#deps.inbox.outage.end()
    return this.status()
  }

  async status(): Promise<SimulatedOutageStatus> {
    const { outage } = this.#deps.inbox
    const { envelopes: pending } = await this.totals()
    return { remaining_ms: outage.remainingMs(), pending, delivered: outage.delivered() }
  }

  /** Returns the number of pending envelopes. */
  async totals(): Promise<{ envelopes: number }> {
    const opened = await this.#openIfUsed()
    return opened ? opened.spool.totals() : { envelopes: 0 }
  }

  /** Returns a stage that spools the envelope during an outage. */
  stage(): Stage {
    return (ctx) => (this.#deps.inbox.outage.remainingMs() > 0 ? this.#hold(ctx) : undefined)
  }

  /** Opens the spool of an outage that any replica has begun. */
  async #openIfUsed(): Promise<Opened | undefined> {
    return this.#opening || existsSync(this.#file) ? this.#open() : undefined
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#openSpool().catch((error) => {
      this.#opening = undefined // the next attempt may succeed
      throw error
    })
    return this.#opening
  }

  async #openSpool(): Promise<Opened> {
    const { onError, maxAgeMs } = this.#deps
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 })
    const store = await openSqliteSpool(this.#file, BOUNDS)
    const spool = new MonitoredSpool({ ...this.#deps, store, onHealthChange: () => {} })
    const upstreams = new InboxUpstream(this.#deps)
    const deliverer = new Deliverer({ ...this.#deps, spool: store, upstreams, maxAgeMs, random: Math.random })
    deliverer.start({
      onFinalOutcome: (...outcome) => this.#onFinalOutcome(...outcome),
      onError,
      onSettled: () => {},
    })
    return { spool, deliverer }
  }

  async #hold(ctx: Context): Promise<Outcome> {
    const { receipt, client } = ctx
    const ranges = ctx.scrubPage ? ctx.outgoingRanges() : []
    const network = networkOf(client.address)
    this.#checkSize(ctx.envelope.bytes - sizeOfRanges(ranges), network)
    const { spool, deliverer } = await this.#open()
    const outgoing = await this.#plainBody(ctx, ranges)
    const headers = inboxHeaders({ receipt, network })
    const { entry, body } = await createSpoolEntry(ctx, outgoing, headers)
    receipt.upstream_status = 503
    receipt.upstream_error = 'http-5xx'
    const result = await spool.put(uncompressed(entry), body, 0)
    if (result.kind === 'full')
      throw new Rejection(
        'inbox-full',
        'The spool of the simulated outage is full, or the share of this client address.',
      )
    if (result.kind === 'known')
      return accepted(ctx, { outcome: 'filtered', reason: 'duplicate', status: 202 })
    for (const victim of result.evicted) deliverer.evicted(victim)
    return accepted(ctx, { outcome: 'spooled', status: 202 })
  }

  #checkSize(bytes: number, network: string): void {
    if (bytes > ENTRY_BYTES) throw new Rejection('envelope-too-large')
    try {
      this.#deps.inbox.checkSize(bytes + SUMMARY_BYTES, network)
    } catch (error) {
      throw new Rejection('inbox-full', error instanceof Error ? error.message : 'unknown')
    }
  }

  async #plainBody(ctx: Context, ranges: Range[]): Promise<OutgoingBody> {
    const { body, envelope } = ctx
    if (body.encoding === 'identity') return buildBody(body, envelope.bytes, ranges)
    const plain = await decompressForSpool(this.#deps.bodies, body, envelope.bytes, ranges)
    ctx.derivedBodies.push(plain)
    return buildBody(plain, plain.wireBytes, [])
  }
}

/** The inbox stores bodies decompressed: its entry is not compressed again. */
function uncompressed({ wireBytes: _, ...entry }: SpoolEntry): SpoolEntry {
  return entry
}
