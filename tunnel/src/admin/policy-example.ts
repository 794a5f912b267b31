/** Example of the changes by scrubbing, from an envelope of the inbox. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { InboxEntry } from 'contract/inbox'
import type { ScrubExample } from 'contract/policies'
import { Rejection } from 'contract/rejections'
import type { Context } from 'hono'
import type { Spool, Summaries } from '../pipeline/spool.ts'
import { describeChange, type Preview, previewEnvelope } from '../policy/scrub/preview.ts'
import { Scrubbing, type ScrubSettings } from '../policy/scrub/scrub.ts'
import type { AuditLog } from './audit-log.ts'
import { NO_INBOX } from './inbox-routes.ts'
import { RequestError } from './responses.ts'
import { readKept } from './stored-entries.ts'

const MAX_ENVELOPES = 50
const MAX_ENVELOPE_BYTES = 128 * 1024 // one that is full of personal data takes some 50 ms, for which live traffic waits
const MAX_CHANGES = 50

type Changes = Pick<ScrubExample, 'changes' | 'total'>

export type PolicyExampleDeps = { scrub: ScrubSettings; spool: Spool; auditLog: AuditLog }

export class PolicyExamples {
  readonly #spool: Spool
  readonly #auditLog: AuditLog
  /** It counts nothing. */
  readonly #scrubbing: Scrubbing
  /** Changes of the envelopes that were searched, by ID: the console asks every few seconds. */
  readonly #searched = new Map<string, Changes>()
  #audited = ''

  constructor({ scrub, spool, auditLog }: PolicyExampleDeps) {
    this.#spool = spool
    this.#auditLog = auditLog
    this.#scrubbing = new Scrubbing(scrub, () => {})
  }

  /** Finds the newest envelope that scrubbing would change. Throws a `RequestError` when the inbox cannot have one. */
  async read(c: Context): Promise<ScrubExample> {
    const inbox = this.#spool.summaries
    if (!inbox) throw new RequestError(404, NO_INBOX)
    const { entries } = await inbox.list(MAX_ENVELOPES)
    this.#forgetOthers(new Set(entries.map(({ id }) => id)))
    for (const [index, entry] of entries.entries()) {
      const found = this.#searched.get(entry.id) ?? (await this.#search(entry, inbox))
      if (found.total === 0) continue
      this.#audit(c, entry.id)
      const { id, time, title } = entry
      return { searched: index + 1, entry: { id, time, title }, ...found }
    }
    return { searched: entries.length, changes: [], total: 0 }
  }

  /** Searches an envelope, in a turn of the event loop of its own. */
  async #search({ id, bytes }: Pick<InboxEntry, 'id' | 'bytes'>, inbox: Summaries): Promise<Changes> {
    await nextTurn()
    const kept = bytes <= MAX_ENVELOPE_BYTES ? await inbox.find(id) : undefined
    const envelope = kept && (await readKept(this.#spool, kept))
    const found = envelope ? findChanges(envelope, this.#scrubbing) : { changes: [], total: 0 }
    this.#searched.set(id, found)
    return found
  }

  #forgetOthers(ids: ReadonlySet<string>): void {
    for (const id of this.#searched.keys()) if (!ids.has(id)) this.#searched.delete(id)
  }

  /** Records the reading of an envelope, but not again while the same operator gets the same one. */
  #audit(c: Context, id: string): void {
    const reading = `${c.req.header('x-operator-address') ?? ''} ${id}`
    if (this.#audited === reading) return
    this.#audited = reading
    this.#auditLog.record(c, 'policy-example', { id })
  }
}

function findChanges(envelope: Buffer, scrubbing: Scrubbing): Changes {
  const found = previewOrNone(envelope, scrubbing).flatMap(({ item, result }) =>
    typeof result === 'object' ? result.changes.map((change) => ({ item, change })) : [],
  )
  const changes = found.slice(0, MAX_CHANGES).map(({ item, change }) => describeChange(item, change))
  return { changes, total: found.length }
}

/** Returns nothing for an envelope with more items than the reader accepts. */
function previewOrNone(envelope: Buffer, scrubbing: Scrubbing): Preview[] {
  try {
    return previewEnvelope(envelope, scrubbing)
  } catch (error) {
    if (error instanceof Rejection) return []
    throw error
  }
}
