/**
 * Puts one that waits again, due at another time. The server can be told no other: a copy is put, which names the first one, and that is
 * deleted. Where that fails, whoever takes or removes the copy does it. Without room for both it stays as it is.
 */

import { randomUUID } from 'node:crypto'
import { decodeEntry, type Entry, encodeEntry, subjectOf, uploadOf } from './codec.ts'
import type { Taken } from './consumers.ts'
import { FULL, type Messages } from './messages.ts'
import { codeOf } from './stream.ts'

/** The number of the copy, where there is one now in place of the first. */
export type PutAgain = (seq: number, due: number, attempts: number) => Promise<number | undefined>

export const HELD_MS = 300 // nobody takes a copy before the first one is gone

export function openPutAgain(messages: Messages): PutAgain {
  const { get, find, publish, remove } = messages
  return async function putAgain(seq, due, attempts) {
    const message = await get(seq)
    if (!message) return undefined
    const entry = decodeEntry(message.header)
    await removePrevious(messages, entry)
    const mark = randomUUID()
    const began = performance.now()
    try {
      const copy = await publish(
        subjectOf(entry, 'again', uploadOf(message.subject)),
        Buffer.from(message.data),
        encodeEntry({ ...entry, mark, due, attempts, first: entry.first ?? seq, previous: seq }),
        nameOfCopy(entry, seq),
      )
      if (copy.duplicate) {
        const found = await find(copy.seq)
        if (!found) await remove(seq) // the copy has come to its end already, and that was told
        if (found?.entry.mark !== mark) return undefined // another replica does the same
      }
      return (await isReplaced(seq, copy.seq, began)) ? copy.seq : undefined
    } catch (error) {
      if (codeOf(error) === FULL) return undefined
      throw error
    }
  }

  /** When the first was gone it was purged, or expired, and so must be the copy; but later than this whoever took the copy removed it. */
  async function isReplaced(seq: number, copy: number, began: number): Promise<boolean> {
    const removed = await remove(seq).catch(() => true)
    if (removed || performance.now() - began > HELD_MS) return true
    await remove(copy)
    return false
  }
}

/** The one that a copy stands for. Looked for first: in a cluster the servers would agree on each deletion. */
export async function removePrevious({ find, remove }: Messages, { previous }: Entry): Promise<void> {
  if (previous !== undefined && (await find(previous))) await remove(previous)
}

/**
 * Whether what was taken is all there is of its envelope: what it is a copy of is removed first, and it goes itself, of which nobody is
 * told, when a copy was made of it.
 */
export async function standsAlone(messages: Messages, { entry, seq, attempts }: Taken): Promise<boolean> {
  await removePrevious(messages, entry)
  if (entry.due === undefined && attempts === 1) return true // nobody has put it again
  const copy = await messages.published(subjectOf(entry, 'again'), nameOfCopy(entry, seq))
  if (copy !== undefined) await messages.remove(seq)
  return copy === undefined
}

function nameOfCopy({ key }: Entry, seq: number): string {
  return `${key}.${seq}`
}
