/** Patterns of operators, matched in linear time by the same library as in Relay. */

import { createRequire } from 'node:module'
import type { Span } from './text-spans.ts'

const MAX_MATCHES = 100 // each match takes memory; with more in one text, all after the first is redacted

/** Loads the library. It takes 7 MB of memory, which only rules with patterns need. */
function loadLibrary(): typeof import('rregex') {
  return createRequire(import.meta.url)('rregex')
}

/** Compiles a pattern in the syntax of Rust's regex crate. Throws an error that says what is wrong. */
export function compilePattern(pattern: string, groups: readonly number[]): (text: string) => Span[] {
  const { RRegex } = loadLibrary()
  const plain = new RRegex(pattern)
  const unknown = groups.find((group) => group >= plain.capturesLength())
  if (unknown !== undefined) throw new Error(`it has no group ${unknown}`)
  const hasGroups = groups.some((group) => group > 0)
  const compiled = hasGroups ? new RRegex(nameGroups(pattern)) : plain
  const names = compiled.captureNames()
  if (hasGroups && (names.length !== plain.capturesLength() || names.slice(1).includes(null)))
    throw new Error('give the groups in it names, as in (?<number>[0-9]+)')
  return function findMatches(text) {
    const first = compiled.find(text)
    if (!first) return []
    const offsets = new TextOffsets(text)
    if (compiled.splitn(text, MAX_MATCHES + 2).length > MAX_MATCHES + 1)
      return [[offsets.of(first.start), text.length]]
    const found: Span[] = []
    for (const { get, name } of compiled.capturesAll(text))
      for (const group of groups) {
        const match = group === 0 ? get[0] : name[names[group] ?? '']
        if (match) found.push([offsets.of(match.start), offsets.of(match.end)])
      }
    return found
  }
}

/** Gives each group a name, since the library returns the others without their numbers. */
function nameGroups(pattern: string): string {
  let count = 0
  return pattern.replaceAll(/\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?!\?)/gs, (part) =>
    part === '(' ? `(?<unnamed_${++count}>` : part,
  )
}

/** Compiles a pattern that tells if it occurs in a name. Throws as `compilePattern` does. */
export function compileNamePattern(pattern: string): (name: string) => boolean {
  const { RRegex } = loadLibrary()
  const compiled = new RRegex(pattern)
  return (name) => compiled.isMatch(name)
}

/** Maps positions in the UTF-8 of a text to positions in the text. */
class TextOffsets {
  readonly #text: string
  #bytes = 0
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  of(bytes: number): number {
    if (bytes < this.#bytes) this.#bytes = this.#at = 0 // groups may be in any order
    while (this.#bytes < bytes) {
      const code = this.#text.codePointAt(this.#at) ?? 0
      this.#bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
      this.#at += code < 0x10000 ? 1 : 2
    }
    return this.#at
  }
}
