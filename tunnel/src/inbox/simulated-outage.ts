/** Simulated outage of Sentry in inbox mode: envelopes are spooled, and delivered to the inbox when it ends. */

import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SimulatedOutageStatus } from 'contract/inbox'
import { networkOf } from 'contract/networks'
import { Rejection } from 'contract/rejections'
import { buildBody, decompressForSpool, type OutgoingBody } from '../body/outgoing.ts'
import { type Range, sizeOfRanges } from '../body/ranges.ts'
import { type Context, type Outcome, type Stage, spooled } from '../pipeline.ts'
import { createSpoolEntry } from '../spool/entry.ts'
import type { OnFinalOutcome } from '../spool/final-outcomes.ts'
import { ENTRY_BYTES } from './enqueue.ts'
import type { InboxClient } from './inbox-client.ts'
import { InboxUpstream, inboxHeaders } from './inbox-upstream.ts'
import { OutageSpool, type OutageSpoolDeps } from './outage-spool.ts'
import { MAX_OUTAGE_MS } from './outage-table.ts'

type OutageDeps = OutageSpoolDeps & { inbox: InboxClient }

export const MAX_OUTAGE_SECONDS = MAX_OUTAGE_MS / 1000
const SUMMARY_BYTES = 64 * 1024 // at most

export class SimulatedOutage {
  readonly #deps: OutageDeps
  #onFinalOutcome: OnFinalOutcome = () => {}
  #opening: Promise<OutageSpool> | undefined

  constructor(deps: OutageDeps) {
    this.#deps = deps
  }

  /** Delivers what an earlier process has left in the spool. */
  async start(onFinalOutcome: OnFinalOutcome): Promise<void> {
    this.#onFinalOutcome = onFinalOutcome
    await this.#openIfUsed().catch(this.#deps.onError)
  }

  async stop(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    await opened?.close()
  }

  /**
   * Begins an outage, unless one is on. Returns the state, or `undefined` in the pause after an outage. Rejects when the spool cannot be
   * opened.
   */
  async begin(seconds: number): Promise<SimulatedOutageStatus | undefined> {
    const { pending } = await this.#open().then(() => this.status())
    const { outage } = this.#deps.inbox
    if (await outage.begin(seconds * 1000)) {
      if (pending === 0) await outage.reset()
    } else if ((await outage.remainingMs()) === 0) return undefined
    return this.status()
  }

  async end(): Promise<SimulatedOutageStatus> {
    await this.#deps.inbox.outage.end()
    return this.status()
  }

  async status(): Promise<SimulatedOutageStatus> {
    const { outage } = this.#deps.inbox
    const { envelopes: pending } = await this.totals()
    const [remaining_ms, delivered] = await Promise.all([outage.remainingMs(), outage.delivered()])
    return { remaining_ms, pending, delivered }
  }

  /** Returns the number of pending envelopes. */
  async totals(): Promise<{ envelopes: number }> {
    const opened = await this.#openIfUsed()
    return opened ? opened.spool.totals() : { envelopes: 0 }
  }

  /** Returns a stage that spools the envelope during an outage. */
  stage(): Stage {
    const { outage } = this.#deps.inbox
    return async (ctx) => ((await outage.remainingMs()) > 0 ? this.#hold(ctx) : undefined)
  }

  /** Opens the spool of an outage that any replica has begun. */
  async #openIfUsed(): Promise<OutageSpool | undefined> {
    return this.#opening || existsSync(this.#deps.file) ? this.#open() : undefined
  }

  #open(): Promise<OutageSpool> {
    this.#opening ??= this.#openSpool().catch((error) => {
      this.#opening = undefined // the next attempt may succeed
      throw error
    })
    return this.#opening
  }

  async #openSpool(): Promise<OutageSpool> {
    mkdirSync(dirname(this.#deps.file), { recursive: true, mode: 0o700 })
    const opened = await OutageSpool.open(this.#deps, new InboxUpstream(this.#deps))
    opened.deliver((...outcome) => this.#onFinalOutcome(...outcome))
    return opened
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
    const result = await spool.put(entry, body, 0)
    if (result.kind === 'full')
      throw new Rejection(
        'inbox-full',
        'The spool of the simulated outage is full, or the share of this client address.',
      )
    if (result.kind === 'known') return spooled(ctx, 'known')
    for (const victim of result.evicted) deliverer.evicted(victim)
    return spooled(ctx, result.kind)
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
