/** Turns of large bodies: a few at a time receive their next part, so that small bodies do not wait for many large ones. */

const MAX_AT_ONCE = 4
const TURN_MS = 1_000 // a sender that stops does not keep its turn

export class Turns {
  #free = MAX_AT_ONCE
  readonly #queue = new Set<() => void>()

  /** Calls `begin` when it is the caller's turn, perhaps at once. Returns a function that ends the turn, or leaves the queue. */
  take(begin: () => void): () => void {
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    const start = () => {
      timer = setTimeout(end, TURN_MS)
      begin()
    }
    const end = () => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      if (!this.#queue.delete(start)) this.#passOn()
    }
    if (this.#free > 0) {
      this.#free--
      start()
    } else this.#queue.add(start)
    return end
  }

  #passOn(): void {
    const [next] = this.#queue
    if (!next) {
      this.#free++
      return
    }
    this.#queue.delete(next)
    next()
  }
}
