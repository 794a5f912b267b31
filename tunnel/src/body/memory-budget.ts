/** Memory budget of all request bodies, decoders and parsed headers. Reserving never waits, acquiring does. */

export type MemoryBudget = {
  /** Bytes reserved and acquired now. */
  usedBytes(): number
  /** `true` while more bytes are in use than the budget has. */
  isExceeded(): boolean
  reserve(bytes: number): void
  release(bytes: number): void
  /**
   * Waits for room and resolves to a function that gives it back. The first of those waiting that fits goes first; a small part of the
   * budget is always granted, so that progress is never blocked. Rejects with `OutOfMemoryBudget` after `waitMs`, or at once when 1,000
   * wait already.
   */
  acquire(bytes: number, waitMs: number): Promise<() => void>
}

/** No room became free in time. */
export class OutOfMemoryBudget extends Error {}

const MAX_WAITING = 1_000

type Borrower = { bytes: number; lend: (release: () => void) => void }

/** `spare` bytes are lent even where there is no room, and, when nothing is lent, whatever the next one asks for. */
export function createMemoryBudget(bound: number, spare: number): MemoryBudget {
  const waiting: Borrower[] = []
  let [usedBytes, lent] = [0, 0]
  return { usedBytes: () => usedBytes, isExceeded: () => usedBytes > bound, reserve, release, acquire }

  function reserve(bytes: number): void {
    usedBytes += bytes
  }

  function release(bytes: number): void {
    usedBytes -= bytes
    if (waiting.length > 0) lend()
  }

  function acquire(bytes: number, waitMs: number): Promise<() => void> {
    if (waiting.length >= MAX_WAITING)
      return Promise.reject(new OutOfMemoryBudget('too many bodies wait for memory'))
    return new Promise((resolve, reject) => {
      const waiter = { bytes, lend: handOver }
      const timer = setTimeout(giveUp, waitMs)
      waiting.push(waiter)
      lend()

      function handOver(release: () => void): void {
        clearTimeout(timer)
        resolve(release)
      }

      function giveUp(): void {
        waiting.splice(waiting.indexOf(waiter), 1)
        reject(new OutOfMemoryBudget('too many bodies wait for memory'))
        lend() // a smaller one may be next
      }
    })
  }

  function lend(): void {
    // A small one does not wait behind a large one that does not fit.
    for (let i = waiting.findIndex(hasRoomFor); i >= 0; i = waiting.findIndex(hasRoomFor)) {
      const [next] = waiting.splice(i, 1)
      if (!next) return
      lent += next.bytes
      reserve(next.bytes)
      next.lend(loanOf(next.bytes))
    }
  }

  function hasRoomFor({ bytes }: Borrower): boolean {
    return lent === 0 || lent + bytes <= spare || usedBytes + bytes <= bound
  }

  function loanOf(bytes: number): () => void {
    return function releaseLoan() {
      lent -= bytes
      release(bytes)
    }
  }
}
