/** Source map of one file: the source at a position of it. */

import { SourceMap, type SourceMapPayload } from 'node:module'

type Indexed = SourceMapPayload & { sections?: { map: SourceMapPayload }[] }

/** Lines and columns begin at 1, as in Sentry's frames. */
export type SourcePosition = {
  /** File as the map names it. */
  source: string
  line: number
  column: number
  /** Absent where the map holds no source. */
  code?: { before: string[]; line: string; after: string[] }
}

const CONTEXT_LINES = 3
/** Characters. Parsed mappings take some 40 times their length, and web has 192 MiB for all. */
const MAX_MAPPINGS = 2 * 1024 * 1024

export class ParsedMap {
  readonly #map: SourceMap
  readonly #parts: readonly SourceMapPayload[]
  /** Lines of the sources that were shown. */
  readonly #lines = new Map<string, string[]>()

  /** Throws for a text that is no source map, or has too many mappings. */
  constructor(text: string) {
    const payload: Indexed = JSON.parse(text)
    this.#parts = payload.sections?.map(({ map }) => map) ?? [payload]
    if (this.#parts.reduce((sum, { mappings }) => sum + mappings.length, 0) > MAX_MAPPINGS)
      throw new Error('too many mappings')
    this.#map = new SourceMap(payload)
  }

  /** Returns `undefined` for a position that the map does not know. */
  positionAt(line: number, column: number): SourcePosition | undefined {
    const entry = this.#map.findEntry(line - 1, column - 1)
    if (!('originalSource' in entry)) return undefined
    const { originalSource: source, originalLine: at, originalColumn } = entry
    const lines = this.#linesOf(source)
    const text = lines[at]
    return {
      ...{ source, line: at + 1, column: originalColumn + 1 },
      ...(text !== undefined && {
        code: {
          before: lines.slice(Math.max(0, at - CONTEXT_LINES), at),
          line: text,
          after: lines.slice(at + 1, at + 1 + CONTEXT_LINES),
        },
      }),
    }
  }

  #linesOf(source: string): string[] {
    const known = this.#lines.get(source)
    if (known) return known
    const content = this.#parts
      .map((part) => part.sourcesContent?.[part.sources.indexOf(source)])
      .find(Boolean)
    const lines = content?.split('\n') ?? []
    this.#lines.set(source, lines)
    return lines
  }
}
