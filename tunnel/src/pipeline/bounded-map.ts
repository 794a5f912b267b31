/** Map of at most so many entries. It forgets the one that was set longest ago. */

export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number

  constructor(max: number) {
    super()
    this.#max = max
  }

  override set(key: Key, value: Value): this {
    this.delete(key) // to the end
    super.set(key, value)
    if (this.size > this.#max) this.#deleteOldest()
    return this
  }

  #deleteOldest(): void {
    const [oldest] = this.keys()
    if (oldest !== undefined) this.delete(oldest)
  }
}
