/** Upstream that stores what the spool delivers in the inbox, and refuses everything during a simulated outage. */

import type { MemoryBudget } from '../body/memory-budget.ts'
import type { OutgoingBody } from '../body/outgoing.ts'
import type { PendingReceipt } from '../pipeline.ts'
import type { DeliveryUpstreams } from '../spool/upstream-capacity.ts'
import type { DeliveryAttempt } from '../upstream/client.ts'
import { ProjectHealth } from '../upstream/project-health.ts'
import type { DeliveryResult } from '../upstream/request.ts'
import { wholeOf } from './enqueue.ts'
import type { InboxClient } from './inbox-client.ts'
import { readStored } from './stored.ts'
import { summarise } from './summary.ts'

type InboxUpstreamDeps = {
  inbox: InboxClient
  memory: MemoryBudget
  onError: (error: unknown) => void
}

/** Headers of a spool entry, for its delivery to the inbox. */
type Sender = { receipt: Pick<PendingReceipt, 'id' | 'time'>; network: string }

const ATTEMPT_MS = 10_000
const ACCEPTED = reply(200)
const CONCURRENT = 8 // envelopes are stored one at a time

/** Returns the headers that a spool entry needs for its delivery to the inbox. */
export function inboxHeaders({ receipt, network }: Sender): string[] {
  return ['receipt', receipt.id, 'network', network, 'time', String(receipt.time)]
}

export class InboxUpstream implements DeliveryUpstreams {
  readonly #deps: InboxUpstreamDeps
  readonly #health = new ProjectHealth(() => 0) // it has no results
  #last: Promise<unknown> = Promise.resolve()
  #isOpen = true
  #isReading = false

  constructor(deps: InboxUpstreamDeps) {
    this.#deps = deps
  }

  /** Stores one envelope at a time: each is in memory as a whole meanwhile. */
  send(_project: unknown, outgoing: OutgoingBody, headers: string[]): DeliveryAttempt {
    const final = this.#last.then(() => this.#deliver(outgoing, senderOf(headers)))
    this.#last = final.catch(() => undefined)
    return { soon: final, final, drop: () => {} }
  }

  /** Returns the state that was read last, and reads it again: it is in a file that several replicas share. */
  isOpen(): boolean {
    if (!this.#isReading) void this.#noteState()
    return this.#isOpen
  }

  async #noteState(): Promise<void> {
    this.#isReading = true
    try {
      this.#isOpen = await this.#readState()
    } catch {
      // The next call tries again.
    } finally {
      this.#isReading = false
    }
  }

  async #readState(): Promise<boolean> {
    return (await this.#deps.inbox.outage.remainingMs()) > 0
  }

  /** Allows no attempt during the outage, so that the delivery begins at its end, without a backoff. */
  mayProbe(): boolean {
    return false
  }

  spendProbe(): void {}

  health(): ProjectHealth {
    return this.#health
  }

  blames(): boolean {
    return false
  }

  attemptMs(): number {
    return ATTEMPT_MS
  }

  spareConnections(_origin: string, active: number): number {
    return Math.max(0, CONCURRENT - active)
  }

  async #deliver(outgoing: OutgoingBody, sender: Sender): Promise<DeliveryResult> {
    const { memory, onError } = this.#deps
    memory.reserve(2 * outgoing.bytes)
    try {
      if (await this.#readState()) return { kind: 'undecided', reason: 'simulated outage', status: 503 }
      return await this.#store(outgoing, sender)
    } catch (error) {
      onError(error)
      return { kind: 'undecided', reason: 'inbox', status: undefined }
    } finally {
      memory.release(2 * outgoing.bytes)
    }
  }

  async #store(outgoing: OutgoingBody, { receipt: { id, time }, network }: Sender): Promise<DeliveryResult> {
    const { inbox } = this.#deps
    if ((await inbox.size(id)) !== undefined) return ACCEPTED // the spool did not learn of its delivery
    const envelope = await wholeOf(outgoing.content(), outgoing.bytes)
    const read = readStored(envelope)
    if (!read) return reply(400)
    const { items, eventId = null } = read
    const summary = summarise({ id, event_id: eventId }, items, envelope)
    const types = items.map(({ type }) => type)
    await inbox.keep({ id, time, eventId, types, summary, envelope }, network)
    await inbox.outage.countDelivered()
    return ACCEPTED
  }
}

function reply(status: number): DeliveryResult {
  const absent = { contentType: undefined, retryAfter: undefined, rateLimits: undefined }
  return { kind: 'answered', reply: { status, body: Buffer.alloc(0), ...absent } }
}

function senderOf([, id = '', , network = '', , time = '']: string[]): Sender {
  return { receipt: { id, time: Number(time) }, network }
}
