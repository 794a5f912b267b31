/** Findings of the last run of `npm run doctor`, which sees faults of a proxy that no tunnel can see. */

import { DOCTOR_PREFIX } from 'contract/admin-api'
import type { Context } from 'hono'
import { RequestError } from './responses.ts'

const MAX_FINDINGS = 50
const MAX_LENGTH = 1_000
const MAX_BYTES = 64 * 1024
const MAX_AGE_MS = 24 * 60 * 60 * 1000

export class DoctorFindings {
  readonly #now: () => number
  #findings: readonly string[] = []
  #time = 0

  /** `now` is in milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Replaces the findings of the last run by those in a request. Throws a `RequestError`. */
  async replace(c: Context): Promise<{ findings: number }> {
    if (Number(c.req.header('content-length') ?? MAX_BYTES + 1) > MAX_BYTES)
      throw new RequestError(400, `The body needs a Content-Length of at most ${MAX_BYTES}.`)
    const body: unknown = await c.req.json().catch(() => undefined)
    if (!isListOfTexts(body)) throw new RequestError(400, 'The body is a JSON array of strings.')
    this.#findings = body.slice(0, MAX_FINDINGS).map((each) => each.slice(0, MAX_LENGTH))
    this.#time = this.#now()
    return { findings: this.#findings.length }
  }

  /** Returns a warning for each finding, for one day. */
  warnings(): string[] {
    if (this.#now() - this.#time > MAX_AGE_MS) return []
    const time = new Date(this.#time).toISOString().slice(0, 16).replace('T', ' ')
    return this.#findings.map((each) => `${DOCTOR_PREFIX}, ${time} UTC: ${each}`)
  }
}

function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
