/** Example of what scrubbing would change, from the inbox. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from 'hono'
import type { Config } from '../config/config.ts'
import type { ScrubChange, ScrubExample } from '../contract/policies.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { listChanges, readItems } from '../policy/scrub/preview.ts'
import { Scrubbing } from '../policy/scrub.ts'
import { Rejection } from '../rejections.ts'
import type { AuditLog } from './audit-log.ts'
import { RequestError } from './responses.ts'

const MAX_ENVELOPES = 50
const MAX_ENVELOPE_BYTES = 256 * 1024 // live traffic waits for one of them at most
const MAX_CHANGES = 50

type Deps = { scrub: Config['scrub']; inbox: Inbox | undefined; auditLog: AuditLog }

export class PolicyExamples {
  readonly #inbox: Inbox | undefined
  readonly #auditLog: AuditLog
  /** Absent without scrubbing. It counts nothing. */
  readonly #scrubbing: Scrubbing | undefined
  #audited = ''

  constructor({ scrub, inbox, auditLog }: Deps) {
    this.#inbox = inbox
    this.#auditLog = auditLog
    this.#scrubbing = scrub && new Scrubbing(scrub, () => {})
  }

  /** Finds the newest envelope that scrubbing would change. Throws a `RequestError` when the inbox cannot have one. */
  async read(c: Context): Promise<ScrubExample> {
    const scrubbing = this.#scrubbing
    if (scrubbing?.mode !== 'observe')
      throw new RequestError(404, 'Scrubbing does not observe. Set SCRUB=default and SCRUB_MODE=observe.')
    const inbox = this.#inbox
    if (!inbox)
      throw new RequestError(404, 'The inbox is off. Set INBOX=on to keep envelopes beside a real DSN.')
    const { entries } = inbox.list(MAX_ENVELOPES)
    for (const [index, { id, time, title, bytes }] of entries.entries()) {
      await nextTurn()
      const envelope = bytes <= MAX_ENVELOPE_BYTES ? inbox.read(id) : undefined
      const changes = envelope ? findChanges(envelope, scrubbing) : []
      if (changes.length === 0) continue
      this.#audit(c, id)
      return {
        ...{ searched: index + 1, entry: { id, time, title } },
        ...{ changes: changes.slice(0, MAX_CHANGES), total: changes.length },
      }
    }
    return { searched: entries.length, changes: [], total: 0 }
  }

  /** Records the reading of an envelope once for each operator in a row: the console repeats it every few seconds. */
  #audit(c: Context, id: string): void {
    const reading = `${c.req.header('x-operator-address') ?? ''} ${id}`
    if (this.#audited === reading) return
    this.#audited = reading
    this.#auditLog.recordPayload(c, 'policy-example', { id })
  }
}

function findChanges(envelope: Buffer, scrubbing: Scrubbing): ScrubChange[] {
  try {
    return readItems(envelope, (type) => scrubbing.reads(type)).flatMap((item) => {
      const found = scrubbing.scrub(item)
      return found && typeof found !== 'string' ? listChanges(item, found) : []
    })
  } catch (error) {
    if (error instanceof Rejection) return [] // an envelope with more items than this reader accepts
    throw error
  }
}
