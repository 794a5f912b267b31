/** Envelopes in a row that an upstream has declined, by project: with a wrong key or a deleted project, all of them. */

import type { Project } from '../../pipeline/projects.ts'
import { sentenceOf } from './answers.ts'
import type { Refusal } from './failures.ts'
import type { DeliveryResult } from './request.ts'

/** Sentry may decline a single envelope for what is in it. */
const MIN_DECLINES = 3

export class Declines {
  readonly #clock: () => number
  /** By project, of which an upstream has a fixed number. */
  readonly #rows = new Map<Project, Refusal>()

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Notes the result of an attempt. An accepted envelope ends the row; a rate limit or a failure says nothing about the others. */
  note(project: Project, result: DeliveryResult): void {
    if (result.kind !== 'answered' || result.reply.status === 429) return
    const { status, body } = result.reply
    const row = this.#rows.get(project)
    if (status < 300) {
      if (row) this.#rows.delete(project)
      return
    }
    const now = this.#clock()
    const message = sentenceOf(body)
    this.#rows.set(project, {
      status,
      message,
      first: row?.first ?? now,
      last: now,
      count: (row?.count ?? 0) + 1,
    })
  }

  /** Returns the declined envelopes of a project since the last accepted one, if they are several. */
  of(project: Project): Refusal | undefined {
    const row = this.#rows.get(project)
    return row && row.count >= MIN_DECLINES ? row : undefined
  }
}
