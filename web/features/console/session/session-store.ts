/** Open sessions, by ID. They are kept in this process, so that a copied cookie ends with them. */

import { randomBytes } from 'node:crypto'

export const SESSION_MS = 12 * 60 * 60 * 1000 // 12 h

const MAX_SESSIONS = 1_000

/** `now` in milliseconds since 1970. */
export function createSessions(now: () => number) {
  const ends = new Map<string, number>()
  const isOpen = (id: string) => (ends.get(id) ?? 0) > now()
  return { open, isOpen, close: (id: string) => void ends.delete(id) }

  /** Opens a session and returns its ID. Beyond the bound, the oldest ends. */
  function open(): string {
    const id = randomBytes(32).toString('base64url')
    const [oldest] = ends.keys()
    if (ends.size >= MAX_SESSIONS && oldest !== undefined) ends.delete(oldest)
    ends.set(id, now() + SESSION_MS)
    return id
  }
}
