/**
 * Puts one that waits again, due at another time. The server can be told no other: a copy is put, and the first one deleted. When that was
 * gone by then, so must be the copy. Without room for both it stays as it is.
 */

import { randomUUID } from 'node:crypto'
import { decodeEntry, encodeEntry, subjectOf, uploadOf } from './jetstream-entry.ts'
import { FULL, type Messages } from './jetstream-messages.ts'
import { codeOf } from './jetstream-stream.ts'

/** The number of the copy, where there is one now in place of the first. */
export type PutAgain = (seq: number, due: number, attempts: number) => Promise<number | undefined>

export function openPutAgain({ get, find, publish, remove }: Messages): PutAgain {
  return async function putAgain(seq, due, attempts) {
    const message = await get(seq)
    if (!message) return undefined
    const entry = decodeEntry(message.header)
    const mark = randomUUID()
    try {
      const copy = await publish(
        subjectOf(entry, 'again', uploadOf(message.subject)),
        Buffer.from(message.data),
        encodeEntry({ ...entry, mark, due, attempts, first: entry.first ?? seq }),
        `${entry.key}.${seq}`,
      )
      if (copy.duplicate && !(await isMarked(copy.seq, mark))) return undefined // another replica does the same
      if (await remove(seq)) return copy.seq
      await remove(copy.seq) // purged, or expired, at this moment
      return undefined
    } catch (error) {
      if (codeOf(error) === FULL) return undefined
      throw error
    }
  }

  /** Then it is our own: only the first answer was lost. */
  async function isMarked(seq: number, mark: string): Promise<boolean> {
    return (await find(seq))?.entry.mark === mark
  }
}
