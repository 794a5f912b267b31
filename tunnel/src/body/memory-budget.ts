/** The memory that all bodies in hand may take together. What comes in is counted; who can wait borrows, and waits for room. */

export type Memory = {
  /** Bytes taken now, borrowed ones among them. */
  taken(): number
  /** Whether that is more than there should be. */
  isOver(): boolean
  take(bytes: number): void
  giveBack(bytes: number): void
  /**
   * Waits until there is room, or little is lent: somebody always gets on. Whoever waited longest is first among those that fit. Resolves
   * to what gives it back; rejects with `NoRoom` after `waitMs`, or at once when too many wait already.
   */
  borrow(bytes: number, waitMs: number): Promise<() => void>
}

/** Nobody gave back enough while one could wait. */
export class NoRoom extends Error {}

const MAX_WAITING = 1_000

type Borrower = { bytes: number; lend: (giveBack: () => void) => void }

/** `spare` bytes are lent even where there is no room, and, when nothing is lent, whatever the next one asks for. */
export function createMemory(bound: number, spare: number): Memory {
  const waiting: Borrower[] = []
  let [taken, lent] = [0, 0]
  return { taken: () => taken, isOver: () => taken > bound, take, giveBack, borrow }

  function take(bytes: number): void {
    taken += bytes
  }

  function giveBack(bytes: number): void {
    taken -= bytes
    if (waiting.length > 0) lend()
  }

  function borrow(bytes: number, waitMs: number): Promise<() => void> {
    if (waiting.length >= MAX_WAITING) return Promise.reject(new NoRoom('too many bodies wait for memory'))
    return new Promise((resolve, reject) => {
      const borrower = { bytes, lend: handOver }
      const timer = setTimeout(giveUp, waitMs)
      waiting.push(borrower)
      lend()

      function handOver(giveBack: () => void): void {
        clearTimeout(timer)
        resolve(giveBack)
      }

      function giveUp(): void {
        waiting.splice(waiting.indexOf(borrower), 1)
        reject(new NoRoom('too many bodies wait for memory'))
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
      take(next.bytes)
      next.lend(loanOf(next.bytes))
    }
  }

  function hasRoomFor({ bytes }: Borrower): boolean {
    return lent === 0 || lent + bytes <= spare || taken + bytes <= bound
  }

  function loanOf(bytes: number): () => void {
    return function giveLoanBack() {
      lent -= bytes
      giveBack(bytes)
    }
  }
}
