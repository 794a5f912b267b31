/** Spool whose server or file cannot be used yet. It rejects puts until it is open. */

import { setTimeout as wait } from 'node:timers/promises'
import { NOT_OPEN } from 'contract/spool'
import type { Spool } from '../pipeline/spool.ts'

/**
 * Error of a store that cannot hold the spool yet: a NATS server that does not answer, has no leader or no room, or is too old, or a file
 * that another replica keeps locked. The tunnel starts without the spool, and opening is tried again.
 */
export class StoreAway extends Error {}

type UnreachableSpoolDeps = {
  /** Opens the spool. Rejects after some attempts. */
  open: () => Promise<Spool>
  /** Error of the first attempt. */
  problem: Error
  /** Receives messages for the operator. */
  onNotice: (notice: string) => void
}

const RETRY_MS = 1_000

export function openUnreachable({ open, problem, onNotice }: UnreachableSpoolDeps): Spool {
  let spool: Spool | undefined
  let lastProblem = problem
  let closed = false
  onNotice(`${problem.message}. Until then, envelopes that Sentry does not accept get 503`)
  void openWhenReachable()

  return {
    get id() {
      return spool?.id ?? NOT_OPEN
    },
    describe: async () =>
      spool?.describe() ?? { maxBytes: 0, durability: 'unproven: the spool is not open yet' },
    put: async (...args) => opened().put(...args),
    probe: async () => opened().probe(),
    take: async (...args) => spool?.take(...args) ?? [],
    expire: async (...args) => spool?.expire(...args) ?? [],
    read: async (...args) => opened().read(...args),
    extend: async (...args) => opened().extend(...args),
    finish: async (...args) => opened().finish(...args),
    postpone: async (...args) => opened().postpone(...args),
    totals: async () => opened().totals(),
    list: async (...args) => opened().list(...args),
    retry: async (...args) => opened().retry(...args),
    purge: async (...args) => opened().purge(...args),
    pause: async (...args) => opened().pause(...args),
    resume: async (...args) => opened().resume(...args),
    entries: {
      keep: async (...args) => opened().entries.keep(...args),
      list: async (...args) => opened().entries.list(...args),
      count: async (...args) => opened().entries.count(...args),
      read: async (...args) => opened().entries.read(...args),
      resend: async (...args) => opened().entries.resend(...args),
      purge: async (...args) => opened().entries.purge(...args),
    },
    get summaries() {
      return spool?.summaries
    },
    state: {
      get: async (...args) => opened().state.get(...args),
      put: async (...args) => opened().state.put(...args),
      clockOffsetMs: () => spool?.state.clockOffsetMs() ?? 0,
      snapshots: {
        add: async (...args) => opened().state.snapshots.add(...args),
        read: async (...args) => opened().state.snapshots.read(...args),
      },
      bundles: {
        read: async (...args) => opened().state.bundles.read(...args),
        write: async (...args) => opened().state.bundles.write(...args),
      },
    },
    async close() {
      closed = true
      await spool?.close()
    },
  }

  function opened(): Spool {
    if (!spool) throw lastProblem
    return spool
  }

  async function openWhenReachable(): Promise<void> {
    while (!closed && !spool)
      try {
        spool = await open()
        onNotice('the spool is open now')
      } catch (error) {
        report(error instanceof Error ? error : new Error(String(error)))
        await wait(RETRY_MS)
      }
    if (closed) await spool?.close()
  }

  /** Reports a problem once. */
  function report(error: Error): void {
    if (error.message !== lastProblem.message) onNotice(error.message)
    lastProblem = error
  }
}
