/** The memory that all bodies in hand may take together. What comes in is counted; who can wait borrows, and waits for room. */

export type Memory = {
  /** Bytes taken now, borrowed ones among them. */
  taken(): number
  /** Whether that is more than there should be. */
  isOver(): boolean
  take(bytes: number): void
  giveBack(bytes: number): void
  /** In turn, when there is room, or when little is lent: somebody always gets on. Resolves to what gives it back; rejects with `NoRoom` after `waitMs`. */
  borrow(bytes: number, waitMs: number): Promise<() => void>
}

/** Nobody gave back enough while one could wait. */
export class NoRoom extends Error {}

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
    for (let [next] = waiting; next && hasRoomFor(next); [next] = waiting) {
      waiting.shift()
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
