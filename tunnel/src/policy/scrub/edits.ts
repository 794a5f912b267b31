/** Edits of a payload: byte ranges and what stands in their place. */

import type { Range } from '../../envelope/body/ranges.ts'
import { Unscrubbable } from './json-scanner.ts'
import type { Redaction } from './redaction.ts'

const MAX_EDITS = 20_000 // more take longer than 50 ms

/** Collects the edits of a payload, in the order of their positions. */
export class Edits {
  #ranges: Range[] = []

  get ranges(): readonly Range[] {
    return this.#ranges
  }

  get count(): number {
    return this.#ranges.length
  }

  /** Adds an edit behind all others. Throws `Unscrubbable` when there are too many. */
  add(start: number, end: number, replacement: string): void {
    if (this.#ranges.length === MAX_EDITS)
      throw new Unscrubbable(`more than ${MAX_EDITS} values are to be redacted`)
    this.#ranges.push([start, end, Buffer.from(replacement)])
  }

  /** Removes all edits but the first `count`. */
  truncate(count: number): void {
    this.#ranges.length = count
  }

  /** Adds a text before the character at `at`, behind which no edit begins. */
  insert(at: number, text: string, character: string): void {
    const last = this.#ranges.at(-1)
    if (last?.[0] === at) last[2] = Buffer.concat([Buffer.from(text), last[2] ?? Buffer.alloc(0)])
    else this.add(at, at + 1, text + character)
  }

  /** Adds an edit in place of those within it. */
  replace(start: number, end: number, replacement: string): void {
    const before = this.#ranges.filter(([, to]) => to <= start)
    const after = this.#ranges.filter(([from]) => from >= end)
    this.#ranges = [...before, [start, end, Buffer.from(replacement)], ...after]
  }

  /** Returns a part of the payload with the edits from the `first`th on. */
  read(payload: Buffer, start: number, end: number, first: number): string {
    const parts: Buffer[] = []
    let at = start
    for (const [from, to, replacement] of this.#ranges.slice(first)) {
      if (from < start || to > end) continue
      parts.push(payload.subarray(at, from), replacement ?? Buffer.alloc(0))
      at = to
    }
    parts.push(payload.subarray(at, end))
    return Buffer.concat(parts).toString()
  }

  /** Adds the redactions of a string literal whose content begins at `start`. `raw` has one character per byte. */
  addRedactions(start: number, raw: string, redactions: readonly Redaction[]): void {
    const offsets = new RawOffsets(raw)
    for (const { start: from, end: to, text } of redactions) {
      const [first, last] = [offsets.of(from), offsets.of(to)]
      this.add(start + first, start + last, JSON.stringify(text).slice(1, -1))
    }
  }
}

/** Maps positions in a decoded text to positions in its JSON literal. Positions must not decrease. */
class RawOffsets {
  readonly #raw: string
  #units = 0
  #at = 0

  constructor(raw: string) {
    this.#raw = raw
  }

  of(units: number): number {
    while (this.#units < units && this.#at < this.#raw.length) this.#advance()
    return this.#at
  }

  #advance(): void {
    const code = this.#raw.charCodeAt(this.#at)
    this.#units += code >= 0xf0 ? 2 : 1
    if (code === 0x5c) this.#at += this.#raw[this.#at + 1] === 'u' ? 6 : 2
    else if (code < 0x80) this.#at += 1
    else this.#at += code >= 0xf0 ? 4 : code >= 0xe0 ? 3 : 2
  }
}
