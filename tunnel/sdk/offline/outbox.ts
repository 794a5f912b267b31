/** Envelopes in `localStorage`, which is written at once: there is no time for a database while a page is being closed. */

import { localKeys } from './local.ts'

const MAX_ENTRIES = 30
/** Bounds in characters, of which an origin may store some 5 million. */
const MAX_LENGTH = 1_000_000
const MAX_OTHER_LENGTH = 500_000
const MAX_AGE_MS = 30 * 24 * 3_600_000
/** Begins a text that stands for bytes. An envelope begins with a brace. */
const BYTES = 'b'
/** Functions take a limited number of arguments. */
const CHUNK = 8_192

export class Outbox {
  /** Beginning of the keys. */
  readonly #name: string
  /** Keys of envelopes whose posts are under way in this page. */
  readonly #own = new Set<string>()

  constructor(name: string) {
    this.#name = `${name} kept`
  }

  /** Keeps an envelope of this page, out of the reach of its own `take`. Returns `undefined` without room, and where storage is blocked. */
  put(body: string | Uint8Array, isReport: boolean): string | undefined {
    try {
      const text = typeof body === 'string' ? body : BYTES + textOf(body)
      const keys = localKeys(this.#name)
      const length = keys.reduce((sum, key) => sum + String(localStorage.getItem(key)).length, text.length)
      if (keys.length >= MAX_ENTRIES || length > (isReport ? MAX_LENGTH : MAX_OTHER_LENGTH)) return undefined
      const key = `${this.#name} ${Date.now()} ${Math.random()}`
      localStorage.setItem(key, text)
      this.#own.add(key)
      return key
    } catch {
      return undefined
    }
  }

  /**
   * Calls `listener` when another page keeps an envelope. It may still be doing so when the next page has begun, since browsers load pages of
   * different sites in different processes.
   */
  onKept(listener: () => void): void {
    addEventListener('storage', ({ key, newValue }) => {
      if (newValue && key?.startsWith(this.#name)) listener()
    })
  }

  /** Lets `take` of this page have an envelope, too. */
  release(key: string): void {
    this.#own.delete(key)
  }

  /** Removes an envelope. Returns `false` if another page has taken it. */
  remove(key: string): boolean {
    this.#own.delete(key)
    try {
      const isThere = localStorage.getItem(key) !== null
      localStorage.removeItem(key)
      return isThere
    } catch {
      return true
    }
  }

  /** Takes the envelopes of earlier pages, the oldest first. */
  take(): (string | Uint8Array)[] {
    try {
      const keys = localKeys(this.#name).filter((key) => !this.#own.has(key))
      return keys.sort().flatMap((key) => {
        const text = localStorage.getItem(key) ?? ''
        localStorage.removeItem(key)
        const age = Date.now() - Number(key.slice(this.#name.length).split(' ')[1])
        return age < MAX_AGE_MS ? [text.startsWith(BYTES) ? bytesOf(text.slice(1)) : text] : []
      })
    } catch {
      return []
    }
  }
}

/** Returns a text with a character for each byte. */
function textOf(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += CHUNK)
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK))
  return text
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}
