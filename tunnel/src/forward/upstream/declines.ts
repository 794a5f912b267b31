/** Envelopes in a row that an upstream has declined, by project: with a wrong key or a deleted project, all of them. */

import type { Project } from '../../pipeline/projects.ts'
import { sentenceOf } from './answers.ts'
import type { Refusal } from './failures.ts'
import type { DeliveryResult } from './request.ts'

/** `networks`: those of their clients, 2 for several and for unknown ones. A single sender may have sent what Sentry cannot read. */
export type Declined = Refusal & { networks: number }

type Row = Refusal & { networks: ReadonlySet<string> }

const MANY = 2

export class Declines {
  readonly #clock: () => number
  /** By project, of which an upstream has a fixed number. */
  readonly #rows = new Map<Project, Row>()

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Notes the result of an attempt. An accepted envelope ends the row; a rate limit or a failure says nothing about the others. */
  note(project: Project, network: string, result: DeliveryResult): void {
    if (result.kind !== 'answered' || result.reply.status === 429) return
    const { status, body } = result.reply
    const row = this.#rows.get(project)
    if (status < 300) {
      if (row) this.#rows.delete(project)
      return
    }
    const now = this.#clock()
    const message = sentenceOf(body)
    const networks = new Set(row?.networks)
    if (networks.size < MANY) networks.add(network)
    const count = (row?.count ?? 0) + 1
    this.#rows.set(project, { status, message, first: row?.first ?? now, last: now, count, networks })
  }

  /** Returns the declined envelopes of a project since the last accepted one. */
  of(project: Project): Declined | undefined {
    const row = this.#rows.get(project)
    return row && { ...row, networks: row.networks.has('') ? MANY : row.networks.size }
  }
}
