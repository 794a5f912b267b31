/** How an envelope gets into the stream, once: in one message, or in parts and a message that names them. */

import type { SpoolBody } from '../spool.ts'
import { newUpload, type Parts } from './chunks.ts'
import { type Entry, encodeEntry, fits, subjectOf } from './codec.ts'
import { FULL, type Messages } from './messages.ts'
import { codeOf } from './stream.ts'

/** The number of its message, or `undefined` when the same bytes wait already. */
export type Publish = (entry: Entry, body: SpoolBody) => Promise<number | undefined>

export type PublishParts = {
  messages: Messages
  parts: Parts
  /** What one message holds. */
  partBytes: number
  /** Milliseconds since 1970. */
  now: () => number
}

const ASKED_AT_MOST = 8 // round trips for one envelope

export function openPublish({ messages, parts, partBytes, now }: PublishParts): Publish {
  return async function publish(entry, body) {
    return fits(entry, partBytes) ? putWhole(entry, body) : putParts(entry, body)
  }

  async function putWhole(entry: Entry, body: SpoolBody): Promise<number | undefined> {
    const whole = Buffer.concat(await Array.fromAsync(body.chunks()))
    return publishEntry(entry, subjectOf(entry, 'first'), whole)
  }

  /** The parts first, and the message that names them last: what is not whole is nothing. */
  async function putParts(entry: Entry, body: SpoolBody): Promise<number | undefined> {
    const upload = newUpload(now())
    try {
      const numbers = await parts.write(upload, body)
      const seq = await publishEntry(
        { ...entry, parts: numbers },
        subjectOf(entry, 'first', upload),
        Buffer.alloc(0),
      )
      if (seq === undefined) await parts.remove(upload)
      return seq
    } catch (error) {
      if (codeOf(error) === FULL) await parts.remove(upload)
      throw error
    }
  }

  /**
   * The server knows the same bytes for ten minutes, even those that have come to an end since: then it is named after the one that has, so
   * that those who put it again agree. Bytes that come again and again bear a name of their own in the end.
   */
  async function publishEntry(entry: Entry, subject: string, body: Buffer): Promise<number | undefined> {
    const headers = encodeEntry(entry)
    let msgID = entry.key
    for (let asked = 0; asked < ASKED_AT_MOST; asked++) {
      const { seq, duplicate } = await messages.publish(subject, body, headers, msgID)
      if (!duplicate) return seq
      const first = await messages.find(seq)
      if (first) return first.entry.mark === entry.mark ? seq : undefined // ours, when an answer was lost
      msgID = `${entry.key}.${seq}`
    }
    return (await messages.publish(subject, body, headers, `${entry.key}.${entry.mark}`)).seq
  }
}
