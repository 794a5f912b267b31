/** A spool whose server is not there yet: what is put meanwhile is refused, and it is opened when the server comes. */

import { setTimeout as wait } from 'node:timers/promises'
import type { Spool } from './spool.ts'

export type DeferredSpoolDeps = {
  /** Tries for a while, and rejects when it cannot be opened yet. */
  open: () => Promise<Spool>
  /** Why it could not be opened at first. */
  problem: Error
  /** Told what an operator should know. */
  onNotice: (notice: string) => void
}

const RETRY_MS = 1_000

export function openDeferred({ open, problem, onNotice }: DeferredSpoolDeps): Spool {
  let spool: Spool | undefined
  let why = problem
  let closed = false
  onNotice(`${why.message}. Until then what Sentry does not take is answered with 503`)
  void openWhenThere()

  return {
    get id() {
      return spool?.id ?? 'none-yet'
    },
    get maxBytes() {
      return spool?.maxBytes ?? 0
    },
    put: async (...args) => there().put(...args),
    take: async (...args) => spool?.take(...args) ?? [],
    expire: async (...args) => spool?.expire(...args) ?? [],
    read: async (...args) => there().read(...args),
    extend: async (...args) => there().extend(...args),
    finish: async (...args) => there().finish(...args),
    postpone: async (...args) => there().postpone(...args),
    totals: async () => there().totals(),
    list: async (...args) => there().list(...args),
    find: async (...args) => there().find(...args),
    retry: async (...args) => there().retry(...args),
    purge: async (...args) => there().purge(...args),
    pause: async (...args) => there().pause(...args),
    resume: async (...args) => there().resume(...args),
    async close() {
      closed = true
      await spool?.close()
    },
  }

  function there(): Spool {
    if (!spool) throw why
    return spool
  }

  async function openWhenThere(): Promise<void> {
    while (!closed && !spool)
      try {
        spool = await open()
        onNotice('the spool is there now')
      } catch (error) {
        tell(error instanceof Error ? error : new Error(String(error)))
        await wait(RETRY_MS)
      }
    if (closed) await spool?.close()
  }

  /** Once, until it is another problem. */
  function tell(error: Error): void {
    if (error.message !== why.message) onNotice(error.message)
    why = error
  }
}
