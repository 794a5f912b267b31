/**
 * Bounds of untrusted data that the console reads and shows. They keep every page below 2 MB: HTML and Next.js's copy of the page take
 * up to 10 bytes per character, and some 1,200 bytes per row.
 */

const KIB = 1024

/** Bytes that web reads and holds in memory. */
export const READ_BYTES = {
  /** Line of an envelope header or item header. The tunnel accepts up to 64 KiB. */
  header: 128 * KIB,
  /** Beginning of an envelope that its page shows: an event of 1 MiB with its attachments. */
  envelope: 8 * KIB * KIB,
  /** All parsed items of an envelope: events, spans, logs, metrics. Sentry accepts events of 1 MiB. */
  parsed: 1 * KIB * KIB,
  /** Beginning of each raw item. */
  raw: 16 * KIB,
  /** Response with a spool entry. */
  spoolEntry: 1 * KIB * KIB,
  /** Response with a list of store entries, each with up to 1 KB of Sentry's answer, or with all that is known of an event. */
  storePage: 1 * KIB * KIB,
  /** Response with a list of inbox entries, or of their groups. */
  inboxPage: 4 * KIB * KIB,
  /** Response with an example of scrubbing: 50 values of 300 characters, before and after. */
  scrubExample: 512 * KIB,
} as const

/** Characters that one page shows. */
export const PAGE_CHARACTERS = {
  /** Events, spans, logs and metrics in readable form. */
  readable: 80_000,
  /** Raw headers and items. */
  raw: 30_000,
  /** Cost of a row besides its text. */
  row: 150,
} as const

/** Rows of each list on a page. */
export const ROWS = {
  events: 5,
  /** Items of an envelope that are parsed. */
  readable: 100,
  exceptions: 20,
  frames: 100,
  contextLines: 3,
  /** Variables of a frame. */
  variables: 20,
  breadcrumbs: 100,
  facts: 100,
  contexts: 50,
  spans: 200,
  batch: 200,
  items: 50,
  attachments: 50,
  spoolItems: 50,
  /** SDKs and releases of a project. */
  names: 10,
} as const

/** Characters of one text. */
export const TEXT = {
  title: 300,
  name: 200,
  path: 500,
  /** A line of code: minified code is one line. */
  codeLine: 400,
  line: 1_000,
  message: 4_000,
  json: 4_000,
  raw: 8_000,
  /** The last rejected request of a code. */
  sample: 2_000,
} as const

/** Returns the text, or its beginning and an ellipsis. */
export function cutText(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** Part of a list: the values shown, and how many there are. */
export type Listed<T> = { shown: T[]; total: number }

/** Characters that are left for a page. Each text and row takes from it, and is cut or left out when nothing is left. */
export class Budget {
  #left: number
  #isShort = false

  constructor(characters: number) {
    this.#left = characters
  }

  /** Set once a text was cut or a row left out. */
  get isShort(): boolean {
    return this.#isShort
  }

  /** Returns the text, or as much of its beginning as `most` and the budget allow. */
  text(text: string, most: number): string {
    const shown = cutText(text, Math.min(most, Math.max(0, this.#left)))
    this.#left -= shown.length
    this.#isShort ||= shown.length < text.length
    return shown
  }

  /** Like `text`, for an optional text. */
  optional(text: string | undefined, most: number): string | undefined {
    return text === undefined ? undefined : this.text(text, most)
  }

  /** Returns the first `most` values as `show` makes them, fewer where the budget ends. */
  rows<T, U>(values: readonly T[], most: number, show: (value: T) => U, total = values.length): Listed<U> {
    const shown: U[] = []
    for (const value of values) {
      if (shown.length >= most || this.#left <= 0) break
      this.#left -= PAGE_CHARACTERS.row
      shown.push(show(value))
    }
    this.#isShort ||= shown.length < total
    return { shown, total }
  }
}
