/** Waiting for other replicas that have a SQLite file locked. */

const SQLITE_BUSY = 5
const BUSY_MS = 10_000
const PATIENT_MS = 10
const SLEEPER = new Int32Array(new SharedArrayBuffer(4))

/**
 * Does `work` as soon as nobody is in its way, and blocks until then: in random pauses, the shorter the longer it has waited. SQLite's own
 * grow to 100 ms, which starves whoever has waited longest, and there are locks for which it does not wait at all. Throws after 10 s.
 */
export function whenFree<T>(work: () => T): T {
  for (const began = performance.now(); ; ) {
    try {
      return work()
    } catch (error) {
      const waited = performance.now() - began
      if (!isBusy(error) || waited > BUSY_MS) throw error
      Atomics.wait(SLEEPER, 0, 0, Math.max(0.1, 1 - waited / PATIENT_MS) * (0.5 + Math.random()))
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY
}
