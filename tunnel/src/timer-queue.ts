/** Many waits of one length on one timer: they run out in the order in which they began. */

export type Timeouts = {
  /** Calls `onDue` after the time, unless it is forgotten before. */
  begin(onDue: () => void): Timeout
  forget(timeout: Timeout): void
}

export type Timeout = { due: number; onDue: () => void; before: Timeout; after: Timeout }

/**
 * A timer of Node's own for each request would cost more than most of what is done with it. The waits are a ring of links: a `Set` that
 * is filled and emptied all the time leaves tables behind that keep what was in them alive for the garbage collector.
 */
export function createTimeouts(ms: number): Timeouts {
  const ring = newRing()
  let looking = false
  return { begin, forget }

  function begin(onDue: () => void): Timeout {
    const timeout = { due: performance.now() + ms, onDue, before: ring.before, after: ring }
    ring.before.after = timeout
    ring.before = timeout
    if (!looking) lookIn(ms)
    return timeout
  }

  function lookIn(delay: number): void {
    looking = true
    setTimeout(look, delay)
  }

  function look(): void {
    const now = performance.now()
    const ended: Timeout[] = []
    for (; ring.after !== ring && ring.after.due <= now; forget(ring.after)) ended.push(ring.after)
    looking = false
    if (ring.after !== ring) lookIn(Math.max(1, Math.ceil(ring.after.due - now)))
    for (const { onDue } of ended) onDue()
  }
}

/** Also of one that has run out, or was forgotten before. */
function forget(timeout: Timeout): void {
  timeout.before.after = timeout.after
  timeout.after.before = timeout.before
  timeout.before = timeout
  timeout.after = timeout
}

function newRing(): Timeout {
  const ring = { due: 0, onDue: () => {} } as Timeout
  ring.before = ring
  ring.after = ring
  return ring
}
