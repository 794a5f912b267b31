/** Keeps envelopes after Sentry's answer: accepted ones for `KEEP_HOURS`, declined ones as dead letters. */

import { Rejection, type RejectionCode } from 'contract/rejections'
import type { Bodies } from '../envelope/body/bodies.ts'
import { OutOfMemoryBudget } from '../envelope/body/memory-budget.ts'
import type { Range } from '../envelope/body/ranges.ts'
import { identifyReceipt } from '../envelope/dedupe-key.ts'
import { accepted, type Outcome } from '../pipeline/pipeline.ts'
import { ANSWER_BYTES, type Ending, type Keeping, type PutResult } from '../pipeline/spool.ts'
import type { Forwarding } from './forwarding.ts'
import {
  buildSpoolBody,
  createSpoolEntry,
  describeEntry,
  type EntryDescription,
  isKept,
} from './spool-entry.ts'

export type KeepServices = {
  forwarding: Pick<Forwarding, 'spool'>
  bodies: Bodies
  /** Absent: accepted envelopes do not stay. */
  keeping: Keeping | undefined
  /** Called with errors of envelopes that could not be kept after their outcome. */
  onKeepFault: (error: unknown) => void
}

/** Ranges of the body that do not leave, or are replaced, and the headers for Sentry. */
export type Departure = { removed: Range[]; headers: string[] }

type Kept = Parameters<typeof describeEntry>[0] &
  Parameters<typeof buildSpoolBody>[0] &
  Parameters<typeof accepted>[0]

const MAX_PENDING = 256

/** Keeps answered envelopes. Those that are kept after their responses hold their bodies, so there are at most 256 of them. */
export class Keeper {
  readonly #services: KeepServices
  /** Envelopes that are being kept after their response. */
  #pending = 0

  constructor(services: KeepServices) {
    this.#services = services
  }

  /**
   * Keeps an accepted envelope as `KEEP_HOURS` says, and a declined one as a dead letter. Without a DSN, the response waits until it is on disk.
   * Else it does not, and a failure does not change it; while 256 envelopes wait for a slow disk or a locked file, no more are kept.
   */
  keepAnswered(ctx: Kept, departure: Departure, outcome: Outcome): Outcome | Promise<Outcome> {
    const { keeping, onKeepFault } = this.#services
    if (keeping === 'all') return this.#keepFirst(ctx, departure, outcome)
    const isDeclined = outcome.outcome === 'declined'
    if (!isDeclined && (outcome.outcome !== 'delivered' || keeping === undefined)) return outcome
    const described = describeEntry(ctx, departure.headers)
    if (!isDeclined && !isKept(described, keeping)) return outcome
    if (this.#pending >= MAX_PENDING) return outcome
    const after = async () => {
      this.#pending++
      await this.#keep(ctx, departure.removed, described, endingOf(outcome)).catch(onKeepFault)
      this.#pending--
    }
    return { ...outcome, after }
  }

  async #keepFirst(ctx: Kept, { removed, headers }: Departure, outcome: Outcome): Promise<Outcome> {
    if (outcome.outcome !== 'delivered') return outcome
    await this.#keep(ctx, removed, describeEntry(ctx, headers), endingOf(outcome)).catch((error: Error) => {
      throw notSpooled(error)
    })
    return { ...outcome, ...accepted(ctx, outcome) }
  }

  async #keep(ctx: Kept, removed: Range[], described: EntryDescription, ending: Ending): Promise<void> {
    const { forwarding, bodies, keeping } = this.#services
    const outgoing = await buildSpoolBody(ctx, bodies, removed)
    const { entry, body } = await createSpoolEntry(described, outgoing)
    const key = keeping === 'all' ? identifyReceipt(entry.receipt) : entry.key
    await forwarding.spool.keep({ ...entry, key }, body, ending)
  }
}

function endingOf({ outcome, status, body }: Outcome): Ending {
  if (outcome === 'delivered') return { state: 'kept', status }
  const answer = body === null ? undefined : Buffer.from(body).toString('utf8', 0, ANSWER_BYTES)
  return { state: 'declined', status, answer }
}

type Full = Extract<PutResult, { kind: 'full' }>

/** Rejection code and cause. The spool still has room for others when a share is used up. */
const FULL: Record<Full['reason'], [RejectionCode, string]> = {
  bound: ['spool-full', 'The spool has reached its maximum size.'],
  'address-share': ['spool-share', 'This client address has used its share of the spool.'],
  'project-share': ['spool-share', 'This project has used its share of the spool.'],
}

export function notSpooled(result: Error | Full): Rejection {
  if (!(result instanceof Error)) return new Rejection(...FULL[result.reason])
  if (result instanceof Rejection) return result
  if (!(result instanceof OutOfMemoryBudget)) return new Rejection('spool-unwritable')
  return new Rejection(
    'spool-unwritable',
    'Too many bodies are waiting to be written to the spool. Raise MEMORY_BYTES, or add a replica.',
  )
}
