/** Failures in a row on one upstream: of a project, of a network of clients in it, and of a spool entry. */

import { BoundedMap } from '../../pipeline/bounded-map.ts'

/** Sender of an envelope: its project, the network of the client, and the spool entry if there is one. */
export type Sender = { project: string; network: string; entry?: string | undefined }

/** Response that refuses an envelope: a 4xx that is not the server's own. */
export type RefusingResponse = { status: number; message?: string | undefined }

/** Refusals without another failure in between. Times are monotonic, in milliseconds. */
export type Refusal = RefusingResponse & { first: number; last: number; count: number }

/** Failures since the last envelope that the upstream decided on. */
type Row = {
  failures: number
  last: number
  /** Envelopes that the upstream had decided on before the first failure. */
  decisionsBefore: number
  refusal: Refusal | undefined
  nextTry: number
}

/** Failures after which they are the sender's own, if the upstream has decided on others meanwhile. */
const OWN_FAILURES = 3
/** Failures after which all further envelopes are expected to fail. */
const MANY = 5
const MAX_ROWS = 50_000
/** Failures further apart are not in a row: the server may have been away meanwhile. */
const MAX_GAP_MS = 10 * 60_000
/** Longer for an entry: it is put off for up to 2 min, and one of 20 replicas sees few of its attempts. */
const MAX_ENTRY_GAP_MS = 30 * 60_000

/** Time between two attempts where all are expected to fail. */
export const TRY_MS = 5_000

/** Blames the smallest thing: each failure counts for the entry, the network and the project of its sender. */
export class Failures {
  readonly #clock: () => number
  readonly #rows = new BoundedMap<string, Row>(MAX_ROWS)
  #decisions = 0

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Notes an envelope that the upstream has accepted, declined or rate-limited: it ends the rows of its sender. */
  end(sender: Sender): void {
    this.#decisions++
    if (this.#rows.size > 0) for (const name of namesOf(sender)) this.#rows.delete(name)
  }

  add(sender: Sender): void {
    const now = this.#clock()
    for (const name of namesOf(sender)) {
      const known = this.#rows.get(name)
      const maxGapMs = name === sender.entry ? MAX_ENTRY_GAP_MS : MAX_GAP_MS
      const isInRow = known !== undefined && now - known.last <= maxGapMs
      const row = isInRow ? known : this.#begin()
      row.failures++
      row.last = now
      this.#rows.set(name, row)
    }
  }

  /** Records the refusal of a failure that was added before, or that it was no refusal. */
  noteRefusal(sender: Sender, refusing: RefusingResponse | undefined): void {
    for (const name of namesOf(sender)) {
      const row = this.#rows.get(name)
      if (row) row.refusal = refusing && continueRefusal(row.refusal, refusing, this.#clock())
    }
  }

  /** Returns `true` when a failure of this sender says nothing about the upstream, which has decided on others meanwhile. */
  isOwn(sender: Sender): boolean {
    return this.#rows.size > 0 && namesOf(sender).some((name) => this.#isOwn(name))
  }

  /** Returns `true` when all envelopes of a project fail. */
  isFailing(project: string): boolean {
    return (this.#rows.get(project)?.failures ?? 0) >= MANY
  }

  /** Returns `true` once in 5 s for a project of which all envelopes fail. */
  mayTry(project: string): boolean {
    return this.isFailing(project) && this.#try(project)
  }

  /**
   * Returns `true` for a network whose envelopes fail alone, except once in 5 s: each may hold a connection for long. An empty network is
   * unknown, or a private one that all visitors may share.
   */
  holdsBack(sender: Sender): boolean {
    if (sender.network === '' || this.#rows.size === 0) return false
    const name = networkName(sender)
    const { failures = 0 } = this.#rows.get(name) ?? {}
    return failures >= MANY && this.#isOwn(name) && !this.#try(name)
  }

  /** Returns the refusals of a project or an entry since its last other result. */
  refusal(name: string): Refusal | undefined {
    return this.#rows.get(name)?.refusal
  }

  /** Returns the number of failures that concern this entry alone: it was refused, or others of its project were accepted. */
  ownFailures(entry: string, project: string): number {
    const row = this.#rows.get(entry)
    if (!row) return 0
    const isAlone = row.decisionsBefore < this.#decisions && !this.isFailing(project)
    return isAlone || row.refusal ? row.failures : 0
  }

  #begin(): Row {
    return { failures: 0, last: 0, decisionsBefore: this.#decisions, refusal: undefined, nextTry: 0 }
  }

  #isOwn(name: string): boolean {
    const row = this.#rows.get(name)
    return row !== undefined && row.failures >= OWN_FAILURES && row.decisionsBefore < this.#decisions
  }

  #try(name: string): boolean {
    const now = this.#clock()
    const row = this.#rows.get(name)
    if (!row || now < row.nextTry) return false
    row.nextTry = now + TRY_MS
    return true
  }
}

function continueRefusal(last: Refusal | undefined, refusing: RefusingResponse, now: number): Refusal {
  return { ...refusing, first: last?.first ?? now, last: now, count: (last?.count ?? 0) + 1 }
}

/** Names of the rows of a sender. */
function namesOf(sender: Sender): string[] {
  const { project, entry } = sender
  return [project, networkName(sender), ...(entry === undefined ? [] : [entry])]
}

function networkName({ project, network }: Sender): string {
  return `${project} ${network}`
}
