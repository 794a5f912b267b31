/** Rows of the live feed: receipts with their final outcomes and notices about gaps, newest first, each once. */

import type { Receipt, SpoolOutcome } from 'contract/admin-api'
import { FilterChoices, type FilterOptions } from './filter.ts'

/** Event of the stream. A final outcome may come before its receipt, from another replica. */
export type FeedEvent = { receipts: Receipt[]; finalOutcomes: SpoolOutcome[]; notices: FeedNotice[] }

/**
 * `missed`: receipts that the replica no longer had, at the time of the next one. `stopped`: its last receipts may be missing.
 * `recovered`: it responds again, and nothing is missing.
 */
export type FeedNotice =
  | { kind: 'missed'; replica: string; missed: number; time: number }
  | { kind: 'stopped' | 'unresponsive' | 'recovered'; replica: string; time: number }

/** `finalOutcome`: of a spooled envelope that is no longer pending. */
export type Row = { receipt: Receipt; finalOutcome?: SpoolOutcome } | { notice: FeedNotice }

/** Bound of rows, and of final outcomes. The oldest are dropped. */
export const MAX_ROWS = 10_000

export class FeedRows {
  #rows: Row[] = []
  /** Rows since the last sort, and the number of final outcomes. */
  #added: Row[] = []
  #addedOutcomes = 0
  /** IDs of the receipts among the rows. */
  readonly #ids = new Set<string>()
  readonly #finalOutcomes = new Map<string, SpoolOutcome>()
  readonly #choices = new FilterChoices()

  /** Returns a new list after each change. */
  all(): readonly Row[] {
    this.#sort()
    return this.#rows
  }

  /** Returns the values that the rows can be filtered by. */
  filterOptions(): FilterOptions {
    this.#sort()
    return this.#choices.all()
  }

  /** Adds an event. Receipts that are already known, after a reconnection, are ignored. */
  add({ receipts, finalOutcomes, notices }: FeedEvent): void {
    for (const outcome of finalOutcomes) this.#finalOutcomes.set(outcome.receipt, outcome)
    this.#addedOutcomes += finalOutcomes.length
    for (const receipt of receipts) this.#addReceipt(receipt)
    this.#added.push(...notices.map((notice) => ({ notice })))
    if (this.#added.length + this.#addedOutcomes > MAX_ROWS) this.#sort()
  }

  #addReceipt(receipt: Receipt): void {
    if (this.#ids.has(receipt.id)) return
    this.#ids.add(receipt.id)
    this.#choices.add(receipt)
    this.#added.push({ receipt })
  }

  /** Sorts once for all rows added since the last look, since receipts come by the hundreds per second. */
  #sort(): void {
    if (this.#added.length === 0 && this.#addedOutcomes === 0) return
    const known = this.#addedOutcomes > 0 ? this.#rows.map((row) => this.#withFinalOutcome(row)) : this.#rows
    const all = [...this.#added.map((row) => this.#withFinalOutcome(row)), ...known].sort(newestFirst)
    for (const row of all.splice(MAX_ROWS))
      if ('receipt' in row) {
        this.#ids.delete(row.receipt.id)
        this.#choices.remove(row.receipt)
      }
    this.#rows = all
    this.#added = []
    this.#addedOutcomes = 0
    for (const receipt of this.#finalOutcomes.keys())
      if (this.#finalOutcomes.size > MAX_ROWS) this.#finalOutcomes.delete(receipt)
      else break
  }

  /** Returns the same row where nothing has changed. */
  #withFinalOutcome(row: Row): Row {
    if ('notice' in row || row.finalOutcome || row.receipt.outcome !== 'spooled') return row
    const finalOutcome = this.#finalOutcomes.get(row.receipt.id)
    return finalOutcome ? { ...row, finalOutcome } : row
  }
}

function timeOf(row: Row): number {
  return 'notice' in row ? row.notice.time : row.receipt.time
}

/** At the same time, a gap comes before the receipt. */
function newestFirst(a: Row, b: Row): number {
  return timeOf(b) - timeOf(a) || Number('notice' in a) - Number('notice' in b)
}

export function keyOf(row: Row): string {
  return 'receipt' in row ? row.receipt.id : `${row.notice.kind} ${row.notice.replica} ${row.notice.time}`
}
